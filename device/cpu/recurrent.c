#include "recurrent.h"

#include "gemm.h"
#include "gxmath.h"

#include <omp.h>

typedef struct {
	float *gates, *extra, *out, *state, *dgates, *dstate, *dprev;
	const float *prev, *dout, *bias; // a bias may be null
	int64_t n;
} job;

GX_CLONES static void lstm_range(const void *arg, int64_t begin, int64_t end) {
	const job *s = arg;
	const int64_t n = s->n;
	for (int64_t b = begin; b < end; b++) {
		float *gi = s->gates + 4 * b * n, *gf = gi + n, *gg = gf + n, *go = gg + n;
		float *c = s->extra + b * n, *h = s->out + b * n;
		const float *prev = s->prev + b * n;
		if (s->bias) GX_EACH(j, 0, 4 * n) gi[j] += s->bias[j];
		GX_EACH(j, 0, n) {
			float i = gx_sigmoid(gi[j]), f = gx_sigmoid(gf[j]), g = gx_tanh(gg[j]),
				o = gx_sigmoid(go[j]);
			float m = f * prev[j] + i * g;
			gi[j] = i;
			gf[j] = f;
			gg[j] = g;
			go[j] = o;
			c[j] = m;
			h[j] = o * gx_tanh(m);
		}
	}
}

GX_CLONES static void lstm_grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *s = arg;
	const int64_t n = s->n;
	for (int64_t b = begin; b < end; b++) {
		const float *gi = s->gates + 4 * b * n, *gf = gi + n, *gg = gf + n, *go = gg + n;
		float *di = s->dgates + 4 * b * n, *df = di + n, *dg = df + n, *dp = dg + n;
		const float *c = s->extra + b * n, *prev = s->prev + b * n, *dout = s->dout + b * n;
		float *dc = s->dprev + b * n;
		GX_EACH(j, 0, n) {
			float i = gi[j], f = gf[j], g = gg[j], o = go[j], t = gx_tanh(c[j]);
			float d = dc[j] + dout[j] * o * (1.0f - t * t);
			di[j] = d * g * i * (1.0f - i);
			df[j] = d * prev[j] * f * (1.0f - f);
			dg[j] = d * i * (1.0f - g * g);
			dp[j] = dout[j] * t * o * (1.0f - o);
			dc[j] = d * f;
		}
	}
}

GX_CLONES static void gru_range(const void *arg, int64_t begin, int64_t end) {
	const job *s = arg;
	const int64_t n = s->n;
	for (int64_t b = begin; b < end; b++) {
		float *gr = s->gates + 3 * b * n, *gz = gr + n, *gn = gz + n;
		const float *ur = s->state + 3 * b * n, *uz = ur + n, *un = uz + n, *prev = s->prev + b * n;
		float *v = s->extra + b * n, *h = s->out + b * n;
		GX_EACH(j, 0, n) {
			float r = gx_sigmoid(gr[j] + ur[j]), z = gx_sigmoid(gz[j] + uz[j]);
			float m = gx_tanh(gn[j] + r * un[j]);
			v[j] = un[j];
			gr[j] = r;
			gz[j] = z;
			gn[j] = m;
			h[j] = (1.0f - z) * m + z * prev[j];
		}
	}
}

GX_CLONES static void gru_grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *s = arg;
	const int64_t n = s->n;
	for (int64_t b = begin; b < end; b++) {
		const float *gr = s->gates + 3 * b * n, *gz = gr + n, *gn = gz + n;
		const float *v = s->extra + b * n, *prev = s->prev + b * n, *dout = s->dout + b * n;
		float *dr = s->dgates + 3 * b * n, *dz = dr + n, *dn = dz + n, *dp = s->dprev + b * n;
		float *ur = s->dstate + 3 * b * n, *uz = ur + n, *un = uz + n;
		GX_EACH(j, 0, n) {
			float r = gr[j], z = gz[j], m = gn[j], d = dout[j];
			float dm = d * (1.0f - z) * (1.0f - m * m);
			dr[j] = ur[j] = dm * v[j] * r * (1.0f - r);
			dz[j] = uz[j] = d * (prev[j] - m) * z * (1.0f - z);
			dn[j] = dm;
			un[j] = dm * r;
			dp[j] = d * z;
		}
	}
}

void gx_lstm(float *gates, float *memory, float *out, const float *prev, const gx_cells *c,
	int threads) {
	job j = {.gates = gates, .extra = memory, .out = out, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, lstm_range, &j);
}

void gx_lstm_grad(float *dgates, float *dmemory, const float *dout, const float *gates,
	const float *memory, const float *prev, const gx_cells *c, int threads) {
	job j = {.dgates = dgates, .dprev = dmemory, .dout = dout, .gates = (float *)gates,
		.extra = (float *)memory, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, lstm_grad_range, &j);
}

void gx_gru(float *gates, float *kept, float *out, const float *state, const float *prev,
	const gx_cells *c, int threads) {
	job j = {.gates = gates, .extra = kept, .out = out, .state = (float *)state, .prev = prev,
		.n = c->n};
	gx_parallel(threads, c->batch, 1, gru_range, &j);
}

void gx_gru_grad(float *dgates, float *dstate, float *dprev, const float *dout, const float *gates,
	const float *kept, const float *prev, const gx_cells *c, int threads) {
	job j = {.dgates = dgates, .dstate = dstate, .dprev = dprev, .dout = dout,
		.gates = (float *)gates, .extra = (float *)kept, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, gru_grad_range, &j);
}

// A team stays together through all steps. Its threads share the cells, which are rows, and the
// product of a step: where the weights fit into the cache of every core each multiplies its own
// rows and waits for nobody; larger weights are read once for all, columns by columns, and the
// threads wait for each other.
typedef struct {
	float *gates, *memory, *out, *dgates, *dmemory, *dout;
	const float *packed, *bias, *c0, *h0, *dy;
	const gx_steps *g;
	int64_t *taken; // of the products of two steps
} layer;

enum {
	CACHED = 192 << 10, // numbers of weights that stay in a core's second cache
	FEWEST = 8,         // rows that a product of their own is worth
};

// share is the part of a layer that one thread computes: rows from to to of each step, and a part
// of the product if together.
typedef struct {
	int64_t from, to;
	int part, parts, together;
} share;

static share share_of(const gx_steps *g, int part, int parts) {
	int together = parts > 1 && (4 * g->n * g->n > CACHED || g->batch < FEWEST * parts);
	return (share){g->batch * part / parts, g->batch * (part + 1) / parts, part, parts, together};
}

// multiply computes c = a * packed + beta * c for all rows of the i-th step, or a thread's own.
static void multiply(const layer *l, int64_t i, float *c, const float *a, gx_gemm g,
	const share *s) {
	if (s->together) {
		gx_packed_gemm_part(c, a, l->packed, &g, s->part, s->parts, &l->taken[i % 2]);
		return;
	}
	g.m = s->to - s->from;
	gx_packed_gemm_alone(c + s->from * g.ldc, a + s->from * g.lda, l->packed, &g);
}

static void meet(const share *s) {
	if (s->together) {
#pragma omp barrier
	}
}

// again readies the count of the i-th product for the one after the next: nobody looks at it until
// they meet again.
static void again(const layer *l, int64_t i, const share *s) {
	if (s->part == 0) l->taken[i % 2] = 0;
}

static int64_t step_of(const gx_steps *g, int64_t i) { return g->back ? g->steps - 1 - i : i; }

// before returns the block of the step that is taken before the i-th, or first for the first step.
static const float *before(const gx_steps *g, const float *x, int64_t i, const float *first) {
	return i == 0 ? first : x + step_of(g, i - 1) * g->batch * g->n;
}

static void steps_part(const layer *l, share s) {
	const gx_steps *g = l->g;
	int64_t n = g->n, size = g->batch * n;
	gx_gemm p = {.m = g->batch, .n = 4 * n, .k = n, .lda = n, .ldb = n, .ldc = 4 * n, .alpha = 1.0f,
		.beta = 1.0f, .tb = 1};
	for (int64_t i = 0; i < g->steps; i++) {
		int64_t t = step_of(g, i);
		job j = {.gates = l->gates + 4 * t * size, .extra = l->memory + t * size,
			.out = l->out + t * size, .prev = before(g, l->memory, i, l->c0), .bias = l->bias,
				 .n = n};
		multiply(l, i, j.gates, before(g, l->out, i, l->h0), p, &s);
		meet(&s);
		again(l, i, &s);
		lstm_range(&j, s.from, s.to);
		meet(&s);
	}
}

GX_CLONES static void add_rows(float *d, const float *x, int64_t step, int64_t n, int64_t rows) {
	for (int64_t r = 0; r < rows; r++) GX_EACH(i, 0, n) d[r * n + i] += x[r * step + i];
}

static void steps_grad_part(const layer *l, share s) {
	const gx_steps *g = l->g;
	int64_t n = g->n, size = g->batch * n;
	gx_gemm p = {.m = g->batch, .n = n, .k = 4 * n, .lda = 4 * n, .ldb = n, .ldc = n,
		.alpha = 1.0f};
	for (int64_t i = g->steps - 1; i >= 0; i--) {
		int64_t t = step_of(g, i);
		job j = {.gates = l->gates + 4 * t * size, .extra = l->memory + t * size,
			.prev = before(g, l->memory, i, l->c0), .n = n,
				 .dgates = l->dgates + 4 * t * size, .dprev = l->dmemory, .dout = l->dout};
		add_rows(l->dout + s.from * n, l->dy + (t * g->batch + s.from) * g->dy_row, g->dy_row, n,
			s.to - s.from);
		lstm_grad_range(&j, s.from, s.to);
		meet(&s);
		multiply(l, i, l->dout, j.dgates, p, &s);
		meet(&s);
		again(l, i, &s);
	}
}

void gx_lstm_steps(float *gates, float *memory, float *out, const float *packed, const float *bias,
	const float *c0, const float *h0, const gx_steps *g, int threads) {
	int64_t taken[2] = {0};
	layer l = {.gates = gates, .memory = memory, .out = out, .packed = packed, .bias = bias,
		.c0 = c0, .h0 = h0, .g = g, .taken = taken};
	gx_team(threads);
#pragma omp parallel num_threads(threads)
	steps_part(&l, share_of(g, omp_get_thread_num(), omp_get_num_threads()));
}

void gx_lstm_steps_grad(float *dgates, float *dmemory, float *dout, const float *dy,
	const float *gates, const float *memory, const float *packed, const float *c0,
						const gx_steps *g, int threads) {
	int64_t taken[2] = {0};
	layer l = {.dgates = dgates, .dmemory = dmemory, .dout = dout, .dy = dy,
		.gates = (float *)gates, .memory = (float *)memory, .packed = packed, .c0 = c0, .g = g,
		.taken = taken};
	gx_team(threads);
#pragma omp parallel num_threads(threads)
	steps_grad_part(&l, share_of(g, omp_get_thread_num(), omp_get_num_threads()));
}
