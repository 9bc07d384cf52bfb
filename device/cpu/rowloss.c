#include "rowloss.h"

#include "gx.h"
#include "gxmath.h"

// Rows go by blocks: while their values are in the cache they are multiplied with the weight, and,
// scaled by the gradients of the results, added to the gradient of the weight.

enum {
	BLOCK = 4,       // rows of a block
	LONGEST = 32768, // inputs of rows that go by blocks: a block must stay in the cache
	LINE = 16,       // floats of a line of the cache
};

typedef struct {
	float *y, *dw, *db;
	const float *x, *w, *bias, *label;
	const gx_row_loss *p;
	float *parts, *sums;
	int threads;
} job;

static int parts_of(const gx_row_loss *p, int threads) {
	return (int)gx_max(1, gx_min(threads, p->rows));
}

int64_t gx_row_loss_room(const gx_row_loss *p, int threads) {
	int parts = parts_of(p, threads);
	return (parts - 1) * p->in + parts;
}

// multiply writes the products of count rows with w.
static inline __attribute__((always_inline)) void multiply(float *s, const float *x, const float *w,
	int64_t n, int count) {
	gx_v8 sum[BLOCK][2] = {0};
	int64_t i = 0;
	for (; i + LINE <= n; i += LINE) {
		gx_v8 lo = GX_AT8(w + i), hi = GX_AT8(w + i + GX_HALF);
		for (int r = 0; r < count; r++) {
			sum[r][0] += GX_AT8(x + r * n + i) * lo;
			sum[r][1] += GX_AT8(x + r * n + i + GX_HALF) * hi;
		}
	}
	for (int r = 0; r < count; r++) s[r] = gx_total(sum[r]);
	for (; i < n; i++)
		for (int r = 0; r < count; r++) s[r] += x[r * n + i] * w[i];
}

// add adds count rows, each times its factor.
static inline __attribute__((always_inline)) void add(float *d, const float *x, const float *factor,
	int64_t n, int count) {
	int64_t i = 0;
	for (; i + LINE <= n; i += LINE) {
		gx_v8 lo = GX_AT8(d + i), hi = GX_AT8(d + i + GX_HALF);
		for (int r = 0; r < count; r++) {
			lo += GX_AT8(x + r * n + i) * factor[r];
			hi += GX_AT8(x + r * n + i + GX_HALF) * factor[r];
		}
		GX_AT8(d + i) = lo;
		GX_AT8(d + i + GX_HALF) = hi;
	}
	for (; i < n; i++)
		for (int r = 0; r < count; r++) d[i] += x[r * n + i] * factor[r];
}

// block works on count rows from row at on and returns their part of the gradient of the bias.
static inline __attribute__((always_inline)) float block(const job *j, float *d, int64_t at,
	int count) {
	const gx_row_loss *p = j->p;
	float s[BLOCK], bias = j->bias ? j->bias[0] : 0.0f, sum = 0.0f;
	const float *x = j->x + at * p->in;
	multiply(s, x, j->w, p->in, count);
	for (int r = 0; r < count; r++) {
		float v = s[r] + bias;
		if (p->sigmoid) v = gx_sigmoid(v);
		if (j->y) j->y[at + r] = v;
		s[r] = v - j->label[at + r];
		if (p->sign) s[r] = s[r] > 0.0f ? 1.0f : (s[r] <= 0.0f ? -1.0f : s[r]);
		sum += s[r];
	}
	if (d) add(d, x, s, p->in, count);
	return sum;
}

// part works on rows begin to end, adds to d, and returns their part of the gradient of the bias.
GX_CLONES static float part(const job *j, float *d, int64_t begin, int64_t end) {
	float sum = 0.0f;
	if (d) memset(d, 0, (size_t)j->p->in * sizeof(float));
	int64_t i = begin;
	if (j->p->in <= LONGEST)
		for (; i + BLOCK <= end; i += BLOCK) sum += block(j, d, i, BLOCK);
	for (; i < end; i++) sum += block(j, d, i, 1);
	return sum;
}

static void parts(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t t = begin; t < end; t++) {
		float *d = t == 0 || !j->dw ? j->dw : j->parts + (t - 1) * j->p->in;
		j->sums[t] = part(j, d, j->p->rows * t / j->threads, j->p->rows * (t + 1) / j->threads);
	}
}

void gx_row_loss_run(float *y, float *dw, float *db, const float *x, const float *w,
	const float *bias, const float *label, const gx_row_loss *p,
					 float *memory, int threads) {
	int n = parts_of(p, threads);
	job j = {y, dw, db, x, w, bias, label, p, memory + n, memory, n};
	gx_parallel(n, n, 1, parts, &j);
	if (dw) gx_add_parts(dw, j.parts, p->in, n - 1, n);
	if (!db) return;
	db[0] = 0.0f;
	for (int t = 0; t < n; t++) db[0] += j.sums[t];
}
