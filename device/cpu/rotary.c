#include "rotary.h"

#pragma GCC optimize("fp-contract=off")

#include "gx.h"

enum { STEPS = 64 }; // steps of a block; the first one has its angles from the C library

typedef struct {
	float *y;
	const float *x;
	const int32_t *position;
	const double *rate;
	const gx_rotary *p;
} job;

// turn_heads turns all heads of one step.
static inline __attribute__((always_inline)) void turn_heads(float *y, const float *x,
	const float *c, const float *s, const gx_rotary *p) {
	int64_t n = p->pairs;
	for (int64_t h = 0; h < p->heads; h++, x += 2 * n, y += 2 * n) {
		if (p->interleaved) {
			GX_EACH(i, 0, n) {
				float a = x[2 * i], b = x[2 * i + 1];
				y[2 * i] = a * c[i] - b * s[i];
				y[2 * i + 1] = a * s[i] + b * c[i];
			}
		} else {
			GX_EACH(i, 0, n) {
				float a = x[i], b = x[i + n];
				y[i] = a * c[i] - b * s[i];
				y[i + n] = a * s[i] + b * c[i];
			}
		}
	}
}

// An item is a block of steps of one sequence. From step to step the angles grow by one rate, so
// the cosines and sines follow from those before.
GX_CLONES static void range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_rotary *p = j->p;
	int64_t n = p->pairs, width = 2 * n * p->heads, blocks = (p->length + STEPS - 1) / STEPS;
	double c[GX_ROTARY_PAIRS], s[GX_ROTARY_PAIRS], dc[GX_ROTARY_PAIRS], ds[GX_ROTARY_PAIRS];
	float cf[GX_ROTARY_PAIRS], sf[GX_ROTARY_PAIRS];
	double way = p->back ? -1.0 : 1.0;
	for (int64_t i = 0; i < n; i++) dc[i] = cos(j->rate[i]), ds[i] = way * sin(j->rate[i]);
	for (int64_t it = begin; it < end; it++) {
		int64_t o = it / blocks, from = it % blocks * STEPS, to = gx_min(from + STEPS, p->length);
		double first = (double)(p->offset + from);
		if (j->position) first += (double)j->position[o / p->share];
		for (int64_t i = 0; i < n; i++)
			c[i] = cos(first * j->rate[i]), s[i] = way * sin(first * j->rate[i]);
		for (int64_t t = from; t < to; t++) {
			GX_EACH(i, 0, n) cf[i] = (float)c[i], sf[i] = (float)s[i];
			int64_t at = (o * p->length + t) * width;
			turn_heads(j->y + at, j->x + at, cf, sf, p);
			GX_EACH(i, 0, n) {
				double next = c[i] * dc[i] - s[i] * ds[i];
				s[i] = c[i] * ds[i] + s[i] * dc[i];
				c[i] = next;
			}
		}
	}
}

void gx_rotary_run(float *y, const float *x, const int32_t *position, const double *rate,
	const gx_rotary *p, int threads) {
	job j = {y, x, position, rate, p};
	gx_parallel(threads, p->outer * ((p->length + STEPS - 1) / STEPS), 1, range, &j);
}
