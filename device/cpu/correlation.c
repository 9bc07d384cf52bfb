#include "correlation.h"

#include "gx.h"

typedef struct {
	float *y, *da, *db;
	const float *a, *b, *dy;
	const gx_correlation *p;
} job;

// add_products adds the products of n pairs of elements, stride apart.
GX_CLONES static void add_products(float *y, const float *a, const float *b, int64_t n,
	int64_t stride) {
	if (stride == 1) GX_EACH(i, 0, n) y[i] += a[i] * b[i];
	else
		for (int64_t i = 0; i < n; i++) y[i] += a[i * stride] * b[i * stride];
}

GX_CLONES static void add_differences(float *y, const float *a, const float *b, int64_t n,
	int64_t stride) {
	if (stride == 1) GX_EACH(i, 0, n) y[i] += fabsf(a[i] - b[i]);
	else
		for (int64_t i = 0; i < n; i++) y[i] += fabsf(a[i * stride] - b[i * stride]);
}

GX_CLONES static void scale(float *y, float by, int64_t n) { GX_EACH(i, 0, n) y[i] /= by; }

// forward_rows computes rows [begin, end) of the output.
static void forward_rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_correlation *p = j->p;
	int64_t radius = p->side / 2;
	for (int64_t r = begin; r < end; r++) {
		int64_t row = r % p->oh, q = r / p->oh % (p->side * p->side),
			n = r / p->oh / (p->side * p->side);
		int64_t moved = ((q / p->side - radius) * p->w + q % p->side - radius) * p->step;
		float *y = j->y + r * p->ow;
		memset(y, 0, sizeof *y * p->ow);
		for (int64_t k = 0; k < p->channels * p->size * p->size; k++) {
			int64_t c = k / (p->size * p->size), dy = k / p->size % p->size, dx = k % p->size;
			int64_t at = ((n * p->channels + c) * p->h + row * p->stride + p->border + dy) * p->w +
				p->border + dx;
			(p->difference ? add_differences : add_products)(y, j->a + at, j->b + at + moved, p->ow,
				p->stride);
		}
		scale(y, (float)(p->size * p->size * p->channels), p->ow);
	}
}

void gx_correlate(float *y, const float *a, const float *b, const gx_correlation *p, int threads) {
	job j = {.y = y, .a = a, .b = b, .p = p};
	gx_parallel(threads, p->batch * p->side * p->side * p->oh, 1, forward_rows, &j);
}

GX_CLONES static void back_products(float *da, float *db, const float *dy, const float *a,
	const float *b, float by, int64_t n, int64_t stride) {
	if (stride == 1) {
		GX_EACH(i, 0, n) da[i] += dy[i] / by * b[i];
		GX_EACH(i, 0, n) db[i] += dy[i] / by * a[i];
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		da[i * stride] += dy[i] / by * b[i * stride];
		db[i * stride] += dy[i] / by * a[i * stride];
	}
}

GX_CLONES static void back_differences(float *da, float *db, const float *dy, const float *a,
	const float *b, float by, int64_t n, int64_t stride) {
	for (int64_t i = 0; i < n; i++) {
		float g = a[i * stride] >= b[i * stride] ? dy[i] / by : -dy[i] / by;
		da[i * stride] += g;
		db[i * stride] -= g;
	}
}

// back_planes computes the gradients of planes [begin, end).
static void back_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_correlation *p = j->p;
	int64_t radius = p->side / 2;
	float by = (float)(p->size * p->size * p->channels);
	for (int64_t plane = begin; plane < end; plane++) {
		const float *dy = j->dy + plane / p->channels * p->side * p->side * p->oh * p->ow;
		for (int64_t r = 0; r < p->side * p->side * p->oh; r++, dy += p->ow) {
			int64_t row = r % p->oh, q = r / p->oh;
			int64_t moved = ((q / p->side - radius) * p->w + q % p->side - radius) * p->step;
			for (int64_t k = 0; k < p->size * p->size; k++) {
				int64_t at = (plane * p->h + row * p->stride + p->border + k / p->size) * p->w +
					p->border + k % p->size;
				(p->difference ? back_differences : back_products)(j->da + at, j->db + at + moved,
					dy, j->a + at, j->b + at + moved, by, p->ow, p->stride);
			}
		}
	}
}

void gx_correlate_back(float *da, float *db, const float *dy, const float *a, const float *b,
	const gx_correlation *p, int threads) {
	job j = {.da = da, .db = db, .dy = dy, .a = a, .b = b, .p = p};
	gx_parallel(threads, p->batch * p->channels, 1, back_planes, &j);
}
