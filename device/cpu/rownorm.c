#include "rownorm.h"

#pragma GCC optimize("fp-contract=off")

#include "rows.h"

enum { PIECE = 8192 }; // elements that are summed in float32 before they join a sum in float64

typedef struct {
	float *d, *a, *b; // results: per element, and per row or parameter
	const float *x, *dy, *gamma, *beta, *mean, *std;
	float *s, *q; // per row: sums of dy and dy*(x-mean)/std
	const gx_rownorm *p;
} job;

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
	for (int64_t r = begin; r < end; r++) {
		const float *x = j->x + r * p->n;
		double s = 0, q = 0;
		OVER_PIECES(s, p->n, sum_row(x + i, w));
		float mean = (float)(s / (double)p->n);
		OVER_PIECES(q, p->n, square_row(x + i, w, mean));
		float std = sqrtf((float)(q / (double)p->n) + p->eps);
		if (j->a) j->a[r] = mean;
		if (j->b) j->b[r] = std;
		if (!j->d) continue;
		if (p->per_element)
			scale_row(j->d + r * p->n, x, j->gamma, j->beta, p->n, mean, 1.0f / std);
		else
			affine_row(j->d + r * p->n, x, p->n, j->gamma[r % p->params] / std, mean,
				j->beta[r % p->params]);
	}
}

void gx_rownorm_forward(float *y, float *mean, float *std, const float *x, const float *gamma,
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
	const float *dy = j->dy + r * p->n, *x = j->x + r * p->n;
	float weighed[PIECE];
	*s = *q = 0;
	for (int64_t i = 0; i < p->n; i += PIECE) {
		int64_t w = gx_min(PIECE, p->n - i);
		const float *g = dy + i;
		if (p->per_element) {
			weigh_row(weighed, dy + i, j->gamma + i, w);
			g = weighed;
		}
		*s += sum_row(g, w);
		*q += dot_row(g, x + i, w, j->mean[r]);
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
		int64_t at = r * p->n;
		if (p->per_element)
			tilt_scaled_row(j->d + at, j->dy + at, j->gamma, j->x + at, p->n, a, b, j->mean[r], c);
		else
			tilt_row(j->d + at, j->dy + at, j->x + at, p->n, a, b, j->mean[r], c);
	}
}

// columns_range adds rows up for parameters [begin, end), COLS at a time and some rows before they
// join the total.
GX_CLONES static void columns_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_rownorm *p = j->p;
	enum { ROWS = 64 };
	for (int64_t c = begin; c < end; c += COLS) {
		int w = (int)gx_min(COLS, end - c);
		float ds[COLS] = {0}, db[COLS] = {0};
		for (int64_t first = 0; first < p->rows; first += ROWS) {
			float s[COLS] = {0}, b[COLS] = {0};
			for (int64_t r = first; r < gx_min(p->rows, first + ROWS); r++) {
				const float *dy = j->dy + r * p->n + c, *x = j->x + r * p->n + c;
				float m = j->mean[r], inv = 1.0f / j->std[r];
				for (int k = 0; k < w; k++) s[k] += dy[k] * ((x[k] - m) * inv), b[k] += dy[k];
			}
			for (int k = 0; k < w; k++) ds[k] += s[k], db[k] += b[k];
		}
		if (j->a) memcpy(j->a + c, ds, (size_t)w * sizeof(float));
		if (j->b) memcpy(j->b + c, db, (size_t)w * sizeof(float));
	}
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

void gx_rownorm_grad(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
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
