#include "norm.h"

#pragma GCC optimize("fp-contract=off")

#include "rows.h"

typedef struct {
	float *d, *a, *b, *moving_mean, *moving_var;
	const float *x, *dy, *gamma, *beta, *mean, *inv;
	const gx_bn *p;
} job;

// moments returns mean and biased variance of channel c, the latter from differences to the mean.
static void moments(const gx_bn *p, const float *x, int64_t c, float *mean, float *var) {
	double count = (double)p->n * (double)p->inner, s = 0, q = 0;
	for (int64_t i = 0; i < p->n; i++) s += sum_row(x + (i * p->c + c) * p->inner, p->inner);
	*mean = (float)(s / count);
	for (int64_t i = 0; i < p->n; i++)
		q += square_row(x + (i * p->c + c) * p->inner, p->inner, *mean);
	*var = (float)(q / count);
}

static void forward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_bn *p = j->p;
	for (int64_t c = begin; c < end; c++) {
		float mean = j->moving_mean[c], var = j->moving_var[c];
		if (p->learn) {
			moments(p, j->x, c, &mean, &var);
			j->moving_mean[c] = j->moving_mean[c] * p->momentum + mean * (1.0f - p->momentum);
			j->moving_var[c] = j->moving_var[c] * p->momentum + var * (1.0f - p->momentum);
		}
		float inv = 1.0f / sqrtf(var + p->eps), a = p->fix_gamma ? inv : inv * j->gamma[c];
		if (j->a) j->a[c] = mean;
		if (j->b) j->b[c] = inv;
		if (!j->d) continue;
		for (int64_t i = 0; i < p->n; i++) {
			int64_t at = (i * p->c + c) * p->inner;
			affine_row(j->d + at, j->x + at, p->inner, a, mean, j->beta[c]);
		}
	}
}

void gx_bn_forward(float *y, float *mean, float *inv, const float *x, const float *gamma,
	const float *beta, float *moving_mean, float *moving_var, const gx_bn *p, int threads) {
	job j = {.d = y, .a = mean, .b = inv, .x = x, .gamma = gamma, .beta = beta,
		.moving_mean = moving_mean, .moving_var = moving_var, .p = p};
	gx_parallel(threads, p->c, 1, forward_range, &j);
}

// grad_row writes a*dy + b*(x-m) + c.
GX_CLONES static void grad_row(float *d, const float *dy, const float *x, int64_t n, float a,
	float b, float m, float c) {
	GX_EACH(i, 0, n) d[i] = a * dy[i] + b * (x[i] - m) + c;
}

static void grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_bn *p = j->p;
	double count = (double)p->n * (double)p->inner;
	for (int64_t c = begin; c < end; c++) {
		double s = 0, q = 0;
		float m = j->mean[c], inv = j->inv[c];
		for (int64_t i = 0; i < p->n; i++) {
			int64_t at = (i * p->c + c) * p->inner;
			s += sum_row(j->dy + at, p->inner);
			q += dot_row(j->dy + at, j->x + at, p->inner, m);
		}
		if (j->a) j->a[c] = p->fix_gamma ? 0.0f : (float)(q * inv);
		if (j->b) j->b[c] = (float)s;
		if (!j->d) continue;
		float a = (p->fix_gamma ? 1.0f : j->gamma[c]) * inv, b = 0, k = 0;
		if (p->learn) {
			b = (float)(-a * q / count * inv * inv);
			k = (float)(-a * s / count);
		}
		for (int64_t i = 0; i < p->n; i++) {
			int64_t at = (i * p->c + c) * p->inner;
			grad_row(j->d + at, j->dy + at, j->x + at, p->inner, a, b, m, k);
		}
	}
}

void gx_bn_grad(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
	const float *gamma, const float *mean, const float *inv, const gx_bn *p, int threads) {
	job j = {.a = dgamma, .b = dbeta, .d = dx, .x = x, .dy = dy, .gamma = gamma, .mean = mean,
		.inv = inv, .p = p};
	gx_parallel(threads, p->c, 1, grad_range, &j);
}
