#include "prelu.h"

#include "gx.h"

// Numbers that are summed as float32; least numbers of a thread
enum { STRIP = 1024, GRAIN = 4096 };

typedef struct {
	float *y, *dx, *dslope;
	const float *x, *dy, *slope;
	const gx_prelu *p;
} job;

GX_CLONES static void bend_along(float *y, const float *x, float slope, int64_t n) {
	GX_EACH(i, 0, n) y[i] = x[i] > 0.0f ? x[i] : slope * x[i];
}

GX_CLONES static void bend_across(float *y, const float *x, const float *slope, int64_t rows,
	int64_t lanes) {
	for (int64_t r = 0; r < rows; r++, x += lanes, y += lanes)
		GX_EACH(i, 0, lanes) y[i] = x[i] > 0.0f ? x[i] : slope[i] * x[i];
}

// forward_range computes rows [begin, end): pixels, whose lanes lie side by side.
static void forward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_prelu *p = j->p;
	for (int64_t r = begin; r < end;) {
		int64_t n = gx_min(end - r, p->inner - r % p->inner), at = r * p->lanes;
		const float *slope = j->slope + r / p->inner % p->blocks * p->lanes;
		if (p->lanes == 1)
			bend_along(j->y + at, j->x + at, *slope, n);
		else
			bend_across(j->y + at, j->x + at, slope, n, p->lanes);
		r += n;
	}
}

void gx_prelu_forward(float *y, const float *x, const float *slope, const gx_prelu *p,
	int threads) {
	job j = {.y = y, .x = x, .slope = slope, .p = p};
	gx_parallel(threads, p->outer * p->blocks * p->inner, gx_max(1, GRAIN / p->lanes),
		forward_range, &j);
}

// back_along writes dx, if it is wanted, and returns the sum of dy * x over negative x.
GX_CLONES static float back_along(float *dx, const float *dy, const float *x, float slope,
	int64_t n) {
	gx_v8 sums[2] = {0};
	float sum = 0.0f;
	int64_t i = 0;
	for (; i + GX_LANES <= n; i += GX_LANES)
		for (int k = 0; k < 2; k++) {
			int64_t at = i + k * GX_HALF;
			gx_v8 v = GX_AT8(x + at), g = GX_AT8(dy + at);
			gx_i8 bent = ~(gx_i8)(v > 0.0f);
			sums[k] += (gx_v8)((gx_i8)(g * v) & bent);
			if (dx) GX_AT8(dx + at) = (gx_v8)(((gx_i8)(g * slope) & bent) | ((gx_i8)g & ~bent));
		}
	for (; i < n; i++) {
		float g = dy[i], v = x[i];
		if (!(v > 0.0f)) sum += g * v;
		if (dx) dx[i] = v > 0.0f ? g : slope * g;
	}
	for (int l = 0; l < GX_LANES; l++) sum += sums[l / GX_HALF][l % GX_HALF];
	return sum;
}

// back_across is back_along for lanes that lie side by side; it adds to sums.
GX_CLONES static void back_across(float *dx, double *sums, const float *dy, const float *x,
	const float *slope, int64_t rows, int64_t lanes) {
	for (int64_t r = 0; r < rows; r++, x += lanes, dy += lanes) {
		for (int64_t i = 0; i < lanes; i++) sums[i] += x[i] > 0.0f ? 0.0 : (double)dy[i] * x[i];
		if (!dx) continue;
		GX_EACH(i, 0, lanes) dx[i] = x[i] > 0.0f ? dy[i] : slope[i] * dy[i];
		dx += lanes;
	}
}

enum { MOST = 64 }; // lanes that are summed at a time

// backward_range does blocks [begin, end) of channels.
static void backward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_prelu *p = j->p;
	for (int64_t b = begin; b < end; b++) {
		double sums[MOST] = {0};
		const float *slope = j->slope + b * p->lanes;
		for (int64_t o = 0; o < p->outer; o++) {
			int64_t at = (o * p->blocks + b) * p->inner * p->lanes;
			float *dx = j->dx ? j->dx + at : 0;
			if (p->lanes > 1) {
				back_across(dx, sums, j->dy + at, j->x + at, slope, p->inner, p->lanes);
				continue;
			}
			for (int64_t i = 0; i < p->inner; i += STRIP)
				sums[0] += back_along(dx ? dx + i : 0, j->dy + at + i, j->x + at + i, *slope,
					gx_min(STRIP, p->inner - i));
		}
		for (int64_t i = 0; j->dslope && i < p->lanes; i++)
			j->dslope[b * p->lanes + i] = (float)sums[i];
	}
}

void gx_prelu_backward(float *dx, float *dslope, const float *dy, const float *x,
	const float *slope, const gx_prelu *p, int threads) {
	job j = {.dx = dx, .dslope = dslope, .dy = dy, .x = x, .slope = slope, .p = p};
	gx_parallel(threads, p->blocks, 1, backward_range, &j);
}
