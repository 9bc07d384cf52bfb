#include "recurrent.h"

#include "gxmath.h"

typedef struct {
	float *gates, *extra, *out, *state, *dgates, *dstate, *dprev;
	const float *prev, *dout;
	int64_t n;
} job;

GX_CLONES static void lstm_range(const void *arg, int64_t begin, int64_t end) {
	const job *s = arg;
	const int64_t n = s->n;
	for (int64_t b = begin; b < end; b++) {
		float *gi = s->gates + 4 * b * n, *gf = gi + n, *gg = gf + n, *go = gg + n;
		float *c = s->extra + b * n, *h = s->out + b * n;
		const float *prev = s->prev + b * n;
		GX_EACH(j, 0, n) {
			float i = gx_sigmoid(gi[j]), f = gx_sigmoid(gf[j]), g = gx_tanh(gg[j]), o = gx_sigmoid(go[j]);
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

void gx_lstm(float *gates, float *memory, float *out, const float *prev, const gx_cells *c, int threads) {
	job j = {.gates = gates, .extra = memory, .out = out, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, lstm_range, &j);
}

void gx_lstm_grad(float *dgates, float *dmemory, const float *dout, const float *gates, const float *memory, const float *prev, const gx_cells *c, int threads) {
	job j = {.dgates = dgates, .dprev = dmemory, .dout = dout, .gates = (float *)gates, .extra = (float *)memory, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, lstm_grad_range, &j);
}

void gx_gru(float *gates, float *kept, float *out, const float *state, const float *prev, const gx_cells *c, int threads) {
	job j = {.gates = gates, .extra = kept, .out = out, .state = (float *)state, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, gru_range, &j);
}

void gx_gru_grad(float *dgates, float *dstate, float *dprev, const float *dout, const float *gates, const float *kept, const float *prev, const gx_cells *c, int threads) {
	job j = {.dgates = dgates, .dstate = dstate, .dprev = dprev, .dout = dout, .gates = (float *)gates, .extra = (float *)kept, .prev = prev, .n = c->n};
	gx_parallel(threads, c->batch, 1, gru_grad_range, &j);
}
