#include "rownorm.h"

#pragma GCC optimize("fp-contract=off")

#include "narrow.h"
#include "rows.h"

enum { PIECE = 8192 }; // elements that are summed in float32 before they join a sum in float64

typedef struct {
	void *d;      // result per element
	float *a, *b; // results per row or parameter
	const void *x, *dy;
	const float *gamma, *beta, *mean, *std;
	float *s, *q; // per row: sums of dy and dy*(x-mean)/std
	const gx_rownorm *p;
} job;

// get returns w elements of an array from element i on: where they are, or converted in room.
static const float *get(const job *j, const void *x, int64_t i, int64_t w, float *room) {
	if (!j->p->narrow) return (const float *)x + i;
	gx_bf16_widen(room, (const uint16_t *)x + i, w);
	return room;
}

// target returns the memory for elements of d from element i on, which put then brings there.
static float *target(const job *j, int64_t i, float *room) {
	return j->p->narrow ? room : (float *)j->d + i;
}

static void put(const job *j, int64_t i, int64_t w, const float *from) {
	if (j->p->narrow) gx_bf16_narrow((uint16_t *)j->d + i, from, w);
}

#define OVER_PIECES(sum, n, call) \
	for (int64_t i = 0; i < n; i += PIECE) { \
		int64_t w = gx_min(PIECE, n - i); \
		sum += call; \
	}

// scale_row writes (x-m)*inv*gamma + beta with parameters per element.
GX_CLONES static void scale_row(float *d, const float *x, const float *gamma, const float *beta,
	int64_t n, float m, float inv) {
	GX_EACH(i, 0, n) d[i] = (x[i] - m) * inv * gamma[i] + beta[i];
}

static void forward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_rownorm *p = j->p;
	float room[PIECE];
	for (int64_t r = begin; r < end; r++) {
		int64_t at = r * p->n;
		double s = 0, q = 0;
		OVER_PIECES(s, p->n, sum_row(get(j, j->x, at + i, w, room), w));
		float mean = (float)(s / (double)p->n);
		OVER_PIECES(q, p->n, square_row(get(j, j->x, at + i, w, room), w, mean));
		float std = sqrtf((float)(q / (double)p->n) + p->eps);
		if (j->a) j->a[r] = mean;
		if (j->b) j->b[r] = std;
		if (!j->d) continue;
		for (int64_t i = 0; i < p->n; i += PIECE) {
			int64_t w = gx_min(PIECE, p->n - i);
			const float *x = get(j, j->x, at + i, w, room);
			float *d = target(j, at + i, room);
			if (p->per_element)
				scale_row(d, x, j->gamma + i, j->beta + i, w, mean, 1.0f / std);
			else
				affine_row(d, x, w, j->gamma[r % p->params] / std, mean, j->beta[r % p->params]);
			put(j, at + i, w, d);
		}
	}
}

void gx_rownorm_forward(void *y, float *mean, float *std, const void *x, const float *gamma,
	const float *beta, const gx_rownorm *p, int threads) {
	job j = {.d = y, .a = mean, .b = std, .x = x, .gamma = gamma, .beta = beta, .p = p};
	if (p->n > 0) gx_parallel(threads, p->rows, 1, forward_range, &j);
}

// weigh_row writes dy*gamma.
GX_CLONES static void weigh_row(float *d, const float *dy, const float *gamma, int64_t n) {
	GX_EACH(i, 0, n) d[i] = dy[i] * gamma[i];
}

// tilt_row writes a*dy + b*(x-m) + c.
GX_CLONES static void tilt_row(float *d, const float *dy, const float *x, int64_t n, float a,
	float b, float m, float c) {
	GX_EACH(i, 0, n) d[i] = a * dy[i] + b * (x[i] - m) + c;
}

// tilt_scaled_row is tilt_row of dy*gamma.
GX_CLONES static void tilt_scaled_row(float *d, const float *dy, const float *gamma, const float *x,
	int64_t n, float a, float b, float m, float c) {
	GX_EACH(i, 0, n) d[i] = a * (dy[i] * gamma[i]) + b * (x[i] - m) + c;
}

// row_sums returns the sums of g*dy and g*dy*(x-mean), g being gamma where it is per element and
// otherwise 1.
static void row_sums(const job *j, int64_t r, double *s, double *q) {
	const gx_rownorm *p = j->p;
	float weighed[PIECE], room[PIECE];
	*s = *q = 0;
	for (int64_t i = 0; i < p->n; i += PIECE) {
		int64_t w = gx_min(PIECE, p->n - i);
		const float *g = get(j, j->dy, r * p->n + i, w, weighed);
		if (p->per_element) {
			weigh_row(weighed, g, j->gamma + i, w);
			g = weighed;
		}
		*s += sum_row(g, w);
		*q += dot_row(g, get(j, j->x, r * p->n + i, w, room), w, j->mean[r]);
	}
}

// tilt writes the gradient of row r.
static void tilt(const job *j, int64_t r, float a, float b, float c) {
	const gx_rownorm *p = j->p;
	float g[PIECE], room[PIECE];
	for (int64_t i = 0; i < p->n; i += PIECE) {
		int64_t w = gx_min(PIECE, p->n - i), at = r * p->n + i;
		const float *dy = get(j, j->dy, at, w, g), *x = get(j, j->x, at, w, room);
		float *d = target(j, at, g);
		if (p->per_element)
			tilt_scaled_row(d, dy, j->gamma + i, x, w, a, b, j->mean[r], c);
		else
			tilt_row(d, dy, x, w, a, b, j->mean[r], c);
		put(j, at, w, d);
	}
}

static void grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_rownorm *p = j->p;
	for (int64_t r = begin; r < end; r++) {
		double s, q, inv = 1.0 / (double)j->std[r];
		row_sums(j, r, &s, &q);
		j->s[r] = (float)s;
		j->q[r] = (float)(q * inv);
		if (!j->d) continue;
		double gamma = p->per_element ? 1.0 : (double)j->gamma[r % p->params], n = (double)p->n;
		float a = (float)(gamma * inv), b = (float)(-gamma * q * inv * inv * inv / n),
			c = (float)(-gamma * s * inv / n);
		tilt(j, r, a, b, c);
	}
}

static inline __attribute__((always_inline)) float number(const void *x, int64_t i, int narrow) {
	return narrow ? gx_bf16_float(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

// columns adds rows up for parameters [begin, end), COLS at a time and some rows before they
// join the total.
static inline __attribute__((always_inline)) void columns(const job *j, int64_t begin, int64_t end,
	int narrow) {
	const gx_rownorm *p = j->p;
	enum { ROWS = 64 };
	for (int64_t c = begin; c < end; c += COLS) {
		int w = (int)gx_min(COLS, end - c);
		float ds[COLS] = {0}, db[COLS] = {0};
		for (int64_t first = 0; first < p->rows; first += ROWS) {
			float s[COLS] = {0}, b[COLS] = {0};
			for (int64_t r = first; r < gx_min(p->rows, first + ROWS); r++) {
				const void *dy = gx_from(j->dy, r * p->n + c, narrow),
					*x = gx_from(j->x, r * p->n + c, narrow);
				float m = j->mean[r], inv = 1.0f / j->std[r];
				for (int k = 0; k < w; k++) {
					float g = number(dy, k, narrow);
					s[k] += g * ((number(x, k, narrow) - m) * inv), b[k] += g;
				}
			}
			for (int k = 0; k < w; k++) ds[k] += s[k], db[k] += b[k];
		}
		if (j->a) memcpy(j->a + c, ds, (size_t)w * sizeof(float));
		if (j->b) memcpy(j->b + c, db, (size_t)w * sizeof(float));
	}
}

GX_CLONES static void columns_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	if (j->p->narrow)
		columns(j, begin, end, 1);
	else
		columns(j, begin, end, 0);
}

// add_rows adds the sums of rows up for every parameter.
static void add_rows(const job *j) {
	const gx_rownorm *p = j->p;
	for (int64_t k = 0; k < p->params; k++) {
		double s = 0, q = 0;
		for (int64_t r = k; r < p->rows; r += p->params) s += j->s[r], q += j->q[r];
		if (j->a) j->a[k] = (float)q;
		if (j->b) j->b[k] = (float)s;
	}
}

void gx_rownorm_grad(void *dx, float *dgamma, float *dbeta, const void *dy, const void *x,
	const float *gamma, const float *mean, const float *std, const gx_rownorm *p, float *scratch,
	int threads) {
	job j = {.d = dx, .a = dgamma, .b = dbeta, .x = x, .dy = dy, .gamma = gamma, .mean = mean,
		.std = std, .s = scratch, .q = scratch + p->rows, .p = p};
	// Before dx replaces dy
	if (p->per_element && (dgamma || dbeta))
		gx_parallel(threads, p->params, COLS, columns_range, &j);
	if (!p->per_element || dx) gx_parallel(threads, p->rows, 1, grad_range, &j);
	if (!p->per_element) add_rows(&j);
}
