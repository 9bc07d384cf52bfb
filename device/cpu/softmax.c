#include "softmax.h"

#include "narrow.h"

enum {
	COLS = 64,   // neighbours along inner that are worked on together
	PIECE = 512, // elements of a row that are summed at once
};

typedef struct {
	float *d;
	const float *x, *y;
	int64_t n, inner;
	float s; // 1/temperature
	int log;
} job;

#define INLINE static inline __attribute__((always_inline))

INLINE gx_v8 larger(gx_v8 a, gx_v8 b) {
	gx_i8 m = a > b;
	return (gx_v8)((m & (gx_i8)a) | (~m & (gx_i8)b));
}

INLINE gx_v8 plus(gx_v8 a, gx_v8 b) { return a + b; }

// JOIN joins the lanes of a vector pairwise.
#define JOIN(name) \
	INLINE float join_##name(gx_v8 v) { \
		v = name(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 4, 5, 6, 7)); \
		v = name(v, __builtin_shufflevector(v, v, 2, 3, 2, 3, 2, 3, 2, 3)); \
		return name(v, __builtin_shufflevector(v, v, 1, 1, 1, 1, 1, 1, 1, 1))[0]; \
	}
JOIN(larger)
JOIN(plus)

// tail returns the last n elements of a row in a buffer of sixteen, filled up with rest.
INLINE const float *tail(float *buffer, const float *x, int64_t n, float rest) {
	for (int k = 0; k < GX_LANES; k++) buffer[k] = k < n ? x[k] : rest;
	return buffer;
}

// FOLD defines a function that makes one number of a row. It reads the row in four vectors of
// sixteen lanes side by side; v[k] and v[k + 1] are the halves of one.
#define FOLD(name, rest, join) \
	INLINE float name(const float *x, int64_t n) { \
		gx_v8 v[8]; \
		for (int k = 0; k < 8; k++) v[k] = (gx_v8){} + rest; \
		int64_t i = 0; \
		for (; i + 64 <= n; i += 64) \
			for (int k = 0; k < 8; k++) v[k] = join(GX_AT8(x + i + 8 * k), v[k]); \
		for (int k = 0; k < 6; k += 2) { \
			if (i + 16 > n) break; \
			v[k] = join(GX_AT8(x + i), v[k]); \
			v[k + 1] = join(GX_AT8(x + i + 8), v[k + 1]); \
			i += 16; \
		} \
		if (i < n) { \
			float buffer[GX_LANES]; \
			const float *t = tail(buffer, x + i, n - i, rest); \
			v[6] = join(GX_AT8(t), v[6]); \
			v[7] = join(GX_AT8(t + 8), v[7]); \
		} \
		return join_##join(join(join(join(v[0], v[2]), join(v[4], v[6])), \
			join(join(v[1], v[3]), join(v[5], v[7])))); \
	}
FOLD(max_row, -INFINITY, larger)
FOLD(sum_row, 0.0f, plus)

// exp_row writes exp(s*(x - m)).
INLINE void exp_row(float *d, const float *x, int64_t n, float m, float s) {
	GX_EACH(i, 0, n) d[i] = gx_exp_down((x[i] - m) * s);
}

// sum_exp_row returns the sum of the numbers that exp_row writes.
INLINE float sum_exp_row(const float *x, int64_t n, float m, float s) {
	float e[PIECE];
	double sum = 0;
	for (int64_t i = 0; i < n; i += PIECE) {
		int64_t w = gx_min(PIECE, n - i);
		exp_row(e, x + i, w, m, s);
		sum += sum_row(e, w);
	}
	return (float)sum;
}

INLINE void affine_row(float *d, const float *x, int64_t n, float a, float b) {
	GX_EACH(i, 0, n) d[i] = x[i] * a + b;
}

// softmax_row writes the softmax of a row whose largest element is m.
INLINE void softmax_row(float *d, const float *x, int64_t n, float m, float s) {
	exp_row(d, x, n, m, s);
	affine_row(d, d, n, 1.0f / sum_row(d, n), 0.0f);
}

// whole_row writes the softmax of a row, or its logarithm. d may be x.
INLINE void whole_row(const job *j, float *d, const float *x) {
	// The largest of s*x is wanted; a negative temperature turns the order around.
	float m = max_row(x, j->n);
	if (j->s < 0) {
		m = x[0];
		for (int64_t i = 1; i < j->n; i++) m = x[i] < m ? x[i] : m;
	}
	if (j->log) {
		float l = logf(sum_exp_row(x, j->n, m, j->s));
		affine_row(d, x, j->n, j->s, -m * j->s - l);
	} else {
		softmax_row(d, x, j->n, m, j->s);
	}
}

GX_CLONES static void rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t r = begin; r < end; r++) whole_row(j, j->d + r * j->n, j->x + r * j->n);
}

typedef struct {
	job j;
	uint16_t *d;
	const uint16_t *x, *y;
} narrow_job;

GX_CLONES static void narrow_rows(const void *arg, int64_t begin, int64_t end) {
	const narrow_job *j = arg;
	float room[GX_NARROW_ROW];
	for (int64_t r = begin; r < end; r++) {
		gx_bf16_widen(room, j->x + r * j->j.n, j->j.n);
		whole_row(&j->j, room, room);
		gx_bf16_narrow(j->d + r * j->j.n, room, j->j.n);
	}
}

void gx_softmax_narrow(uint16_t *d, const uint16_t *x, int64_t outer, int64_t n, float temperature,
	int log, int threads) {
	narrow_job j = {{0, 0, 0, n, 1, 1.0f / temperature, log}, d, x, 0};
	if (n > 0) gx_parallel(threads, outer, 4, narrow_rows, &j);
}

// biased_rows reads the bias in the place of y.
GX_CLONES static void biased_rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = j->x + r * j->n;
		float *d = j->d + r * j->n;
		GX_EACH(i, 0, j->n) d[i] = x[i] + j->y[i];
		softmax_row(d, d, j->n, max_row(d, j->n), j->s);
	}
}

// cols works on up to COLS neighbours along inner at a time.
GX_CLONES static void cols(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t blocks = (j->inner + COLS - 1) / COLS, stride = j->inner;
	for (int64_t it = begin; it < end; it++) {
		int64_t c = it % blocks * COLS, base = it / blocks * j->n * stride + c;
		int w = (int)gx_min(COLS, stride - c);
		const float *x = j->x + base;
		float *d = j->d + base, m[COLS], sum[COLS];
		for (int k = 0; k < w; k++) m[k] = x[k] * j->s, sum[k] = 0;
		for (int64_t i = 1; i < j->n; i++)
			for (int k = 0; k < w; k++)
				m[k] = x[i * stride + k] * j->s > m[k] ? x[i * stride + k] * j->s : m[k];
		for (int64_t i = 0; i < j->n; i++)
			for (int k = 0; k < w; k++) sum[k] += gx_exp_down(x[i * stride + k] * j->s - m[k]);
		for (int k = 0; k < w; k++) sum[k] = j->log ? gx_log(sum[k]) : 1.0f / sum[k];
		for (int64_t i = 0; i < j->n; i++)
			_Pragma("GCC ivdep") for (int k = 0; k < w; k++) {
				float v = x[i * stride + k] * j->s - m[k];
				d[i * stride + k] = j->log ? v - sum[k] : gx_exp_down(v) * sum[k];
			}
	}
}

void gx_softmax(float *d, const float *x, int64_t outer, int64_t n, int64_t inner,
	float temperature, int log, int threads) {
	job j = {d, x, 0, n, inner, 1.0f / temperature, log};
	if (n == 0 || inner == 0) return;
	if (inner == 1)
		gx_parallel(threads, outer, 4, rows, &j);
	else
		gx_parallel(threads, outer * ((inner + COLS - 1) / COLS), 1, cols, &j);
}

void gx_bias_softmax(float *d, const float *x, const float *bias, int64_t outer, int64_t n,
	int threads) {
	job j = {d, x, bias, n, 1, 1.0f, 0};
	if (n > 0) gx_parallel(threads, outer, 4, biased_rows, &j);
}

static inline __attribute__((always_inline)) void grad_row(float *d, const float *dy,
	const float *y, int64_t n, float s, int log) {
	double total = 0;
	for (int64_t i = 0; i < n; i += PIECE) {
		float t[PIECE];
		int64_t w = gx_min(PIECE, n - i);
		GX_EACH(k, 0, w) t[k] = log ? dy[i + k] : dy[i + k] * y[i + k];
		total += sum_row(t, w);
	}
	float sum = (float)total;
	if (log) {
		GX_EACH(i, 0, n) d[i] = s * (dy[i] - gx_exp(y[i]) * sum);
	} else {
		GX_EACH(i, 0, n) d[i] = s * y[i] * (dy[i] - sum);
	}
}

GX_CLONES static void grad_rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t r = begin; r < end; r++) {
		int64_t at = r * j->n;
		grad_row(j->d + at, j->x + at, j->y + at, j->n, j->s, j->log);
	}
}

GX_CLONES static void narrow_grad_rows(const void *arg, int64_t begin, int64_t end) {
	const narrow_job *j = arg;
	int64_t n = j->j.n;
	float dy[GX_NARROW_ROW], y[GX_NARROW_ROW];
	for (int64_t r = begin; r < end; r++) {
		gx_bf16_widen(dy, j->x + r * n, n);
		gx_bf16_widen(y, j->y + r * n, n);
		grad_row(dy, dy, y, n, j->j.s, j->j.log);
		gx_bf16_narrow(j->d + r * n, dy, n);
	}
}

void gx_softmax_narrow_grad(uint16_t *dx, const uint16_t *dy, const uint16_t *y, int64_t outer,
	int64_t n, float temperature, int log, int threads) {
	narrow_job j = {{0, 0, 0, n, 1, 1.0f / temperature, log}, dx, dy, y};
	if (n > 0) gx_parallel(threads, outer, 4, narrow_grad_rows, &j);
}

GX_CLONES static void grad_cols(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t blocks = (j->inner + COLS - 1) / COLS, stride = j->inner;
	for (int64_t it = begin; it < end; it++) {
		int64_t c = it % blocks * COLS, base = it / blocks * j->n * stride + c;
		int w = (int)gx_min(COLS, stride - c);
		const float *dy = j->x + base, *y = j->y + base;
		float *d = j->d + base, sum[COLS] = {0};
		for (int64_t i = 0; i < j->n * stride; i += stride)
			for (int k = 0; k < w; k++) sum[k] += dy[i + k] * (j->log ? 1.0f : y[i + k]);
		for (int64_t i = 0; i < j->n * stride; i += stride)
			_Pragma("GCC ivdep") for (int k = 0; k < w; k++) {
				float g = dy[i + k], v = y[i + k];
				d[i + k] = j->s * (j->log ? g - gx_exp(v) * sum[k] : v * (g - sum[k]));
			}
	}
}

void gx_softmax_grad(float *dx, const float *dy, const float *y, int64_t outer, int64_t n,
	int64_t inner, float temperature, int log, int threads) {
	job j = {dx, dy, y, n, inner, 1.0f / temperature, log};
	if (n == 0 || inner == 0) return;
	if (inner == 1)
		gx_parallel(threads, outer, 4, grad_rows, &j);
	else
		gx_parallel(threads, outer * ((inner + COLS - 1) / COLS), 1, grad_cols, &j);
}

typedef struct {
	float *dx;
	const float *y, *label;
	const gx_softmax_loss *p;
	float scale;
} loss_job;

// loss_row writes n of the gradients of a row, from class from on.
INLINE void loss_row(float *d, const float *y, int64_t label, const gx_softmax_loss *p, float scale,
	int64_t from, int64_t n) {
	float off = p->smooth / (float)gx_max(1, p->n - 1), on = 1.0f - p->smooth;
	if (p->use_ignore && label == p->ignore) {
		memset(d, 0, (size_t)n * sizeof(float));
		return;
	}
	int64_t at = label - from;
	float own = at >= 0 && at < n ? (y[at] - on) * scale : 0.0f; // first: d may be y
	GX_EACH(i, 0, n) d[i] = (y[i] - off) * scale;
	if (at >= 0 && at < n) d[at] = own;
}

// loss_cols does the same for classes that lie inner apart.
INLINE void loss_cols(float *dx, const float *y, const float *label, const gx_softmax_loss *p,
	float scale) {
	int64_t inner = p->inner;
	float off = p->smooth / (float)gx_max(1, p->n - 1), on = 1.0f - p->smooth;
	for (int64_t i = 0; i < p->n; i++)
		GX_EACH(k, 0, inner) {
			float v = y[i * inner + k] - ((int64_t)label[k] == i ? on : off);
			dx[i * inner + k] = p->use_ignore && (int64_t)label[k] == p->ignore ? 0.0f : v * scale;
		}
}

GX_CLONES static void loss_range(const void *arg, int64_t begin, int64_t end) {
	const loss_job *j = arg;
	const gx_softmax_loss *p = j->p;
	int64_t size = p->n * p->inner;
	for (int64_t o = begin; o < end; o++)
		if (p->inner == 1)
			loss_row(j->dx + o * size, j->y + o * size, (int64_t)j->label[o], p, j->scale, 0, p->n);
		else
			loss_cols(j->dx + o * size, j->y + o * size, j->label + o * p->inner, p, j->scale);
}

float gx_softmax_loss_scale(const float *label, const gx_softmax_loss *p) {
	if (!p->valid) return p->scale;
	int64_t count = 0;
	for (int64_t i = 0; i < p->outer * p->inner; i++) count += (int64_t)label[i] != p->ignore;
	return p->scale / (float)gx_max(1, count);
}

void gx_softmax_loss_grad(float *dx, const float *y, const float *label, const gx_softmax_loss *p,
	int threads) {
	loss_job j = {dx, y, label, p, gx_softmax_loss_scale(label, p)};
	gx_parallel(threads, p->outer, 16, loss_range, &j);
}

GX_CLONES void gx_softmax_loss_columns(float *d, int64_t step, float *sum, const float *y,
	const float *label, const gx_softmax_loss *p, float scale,
									   int64_t from, int64_t n) {
	enum {
		GROUP = 32, // rows whose sums are added at once: short sums of short sums round less
		// Rows of y are far apart, and nothing but a hint fetches the next before it is needed
		AHEAD = 8,
	};
	float part[GX_LOSS_COLUMNS];
	memset(sum, 0, (size_t)n * sizeof(float));
	for (int64_t top = 0; top < p->outer; top += GROUP) {
		int64_t bottom = gx_min(top + GROUP, p->outer);
		memset(part, 0, (size_t)n * sizeof(float));
		for (int64_t r = top; r < bottom; r++) {
			float *row = d + r * step;
			for (int64_t i = 0; i < n; i += GX_LANES)
				__builtin_prefetch(y + (r + AHEAD) * p->n + from + i);
			loss_row(row, y + r * p->n + from, (int64_t)label[r], p, scale, from, n);
			GX_EACH(i, 0, n) part[i] += row[i];
		}
		GX_EACH(i, 0, n) sum[i] += part[i];
	}
}
