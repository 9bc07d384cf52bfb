#include "rmsnorm.h"

#pragma GCC optimize("fp-contract=off")

#include "rows.h"

enum { PIECE = 8192, ROWS = 64 }; // numbers that are summed in float32 before they join the total

typedef struct {
	float *d, *roots, *dgamma;
	const float *x, *dy, *gamma, *rms;
	const gx_rmsnorm *p;
} job;

// scale_row writes x*f*gamma.
GX_CLONES static void scale_row(float *d, const float *x, const float *gamma, int64_t n, float f) {
	GX_EACH(i, 0, n) d[i] = x[i] * f * gamma[i];
}

// weigh_row writes dy*gamma.
GX_CLONES static void weigh_row(float *d, const float *dy, const float *gamma, int64_t n) {
	GX_EACH(i, 0, n) d[i] = dy[i] * gamma[i];
}

// tilt_row writes a*dy*gamma + b*x.
GX_CLONES static void tilt_row(float *d, const float *dy, const float *gamma, const float *x,
	int64_t n, float a, float b) {
	GX_EACH(i, 0, n) d[i] = a * (dy[i] * gamma[i]) + b * x[i];
}

static void forward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->p->n;
	for (int64_t r = begin; r < end; r++) {
		const float *x = j->x + r * n;
		double q = 0;
		for (int64_t i = 0; i < n; i += PIECE) q += square_row(x + i, gx_min(PIECE, n - i), 0.0f);
		float root = sqrtf((float)(q / (double)n) + j->p->eps);
		if (j->roots) j->roots[r] = root;
		if (j->d) scale_row(j->d + r * n, x, j->gamma, n, 1.0f / root);
	}
}

void gx_rmsnorm_forward(float *y, float *rms, const float *x, const float *gamma,
	const gx_rmsnorm *p, int threads) {
	job j = {.d = y, .roots = rms, .x = x, .gamma = gamma, .p = p};
	gx_parallel(threads, p->rows, 1, forward_range, &j);
}

static void grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->p->n;
	float weighed[PIECE];
	for (int64_t r = begin; r < end; r++) {
		const float *dy = j->dy + r * n, *x = j->x + r * n;
		double q = 0, inv = 1.0 / (double)j->rms[r];
		for (int64_t i = 0; i < n; i += PIECE) {
			int64_t w = gx_min(PIECE, n - i);
			weigh_row(weighed, dy + i, j->gamma + i, w);
			q += dot_row(weighed, x + i, w, 0.0f);
		}
		tilt_row(j->d + r * n, dy, j->gamma, x, n, (float)inv,
			(float)(-q * inv * inv * inv / (double)n));
	}
}

// columns_range adds rows up for elements [begin, end) of gamma, ROWS rows before they join the
// total.
GX_CLONES static void columns_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->p->n, rows = j->p->rows;
	for (int64_t c = begin; c < end; c += COLS) {
		int w = (int)gx_min(COLS, end - c);
		float total[COLS] = {0};
		for (int64_t top = 0; top < rows; top += ROWS) {
			float s[COLS] = {0};
			for (int64_t r = top; r < gx_min(rows, top + ROWS); r++) {
				const float *dy = j->dy + r * n + c, *x = j->x + r * n + c;
				float inv = 1.0f / j->rms[r];
				for (int k = 0; k < w; k++) s[k] += dy[k] * (x[k] * inv);
			}
			for (int k = 0; k < w; k++) total[k] += s[k];
		}
		memcpy(j->dgamma + c, total, (size_t)w * sizeof(float));
	}
}

void gx_rmsnorm_grad(float *dx, float *dgamma, const float *dy, const float *x, const float *gamma,
	const float *rms, const gx_rmsnorm *p, int threads) {
	job j = {.d = dx, .dgamma = dgamma, .x = x, .dy = dy, .gamma = gamma, .rms = rms, .p = p};
	if (dgamma) gx_parallel(threads, p->n, COLS, columns_range, &j); // before dx replaces dy
	if (dx) gx_parallel(threads, p->rows, 1, grad_range, &j);
}
