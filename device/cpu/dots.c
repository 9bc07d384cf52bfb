#include "direct.h"

#include "gemm.h"
#include "gx.h"

#pragma GCC optimize("no-unswitch-loops", "no-version-loops-for-strides", "no-tree-slp-vectorize") // one loop for each size of a tile

// The lanes of sums are pixels; at the end the lanes are added in one order.

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 4, TERMS = 6 };

INLINE float total(gx_v16 v) {
	typedef float v8 __attribute__((vector_size(32)));
	typedef float v4 __attribute__((vector_size(16)));
	typedef union {
		gx_v16 all;
		v8 half[2];
	} halves;
	halves h = {v};
	union {
		v8 all;
		v4 half[2];
	} q = {h.half[0] + h.half[1]};
	v4 s = q.half[0] + q.half[1];
	return (s[0] + s[2]) + (s[1] + s[3]);
}

// tile sums products of rows outputs and of terms; both are constants at every call.
INLINE void tile(const gx_dots *d, int64_t output, int64_t term, int rows, int terms) {
	gx_v16 sum[ROWS][TERMS] = {};
	const float *x[TERMS], *dy = d->dy + output * d->pitch;
	int64_t pitch = d->pitch, whole = d->pixels / GX_LANES * GX_LANES, rest = d->pixels - whole;
#pragma GCC unroll 6
	for (int t = 0; t < terms; t++) x[t] = d->x + d->at[term + t];
	for (int64_t b = 0; b < d->images; b++, dy += d->dy_image) {
		for (int64_t i = 0; i < whole; i += GX_LANES) {
			gx_v16 v[TERMS];
#pragma GCC unroll 6
			for (int t = 0; t < terms; t++) v[t] = GX_AT(x[t] + i);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++) {
				gx_v16 by = GX_AT(dy + r * pitch + i);
#pragma GCC unroll 6
				for (int t = 0; t < terms; t++) sum[r][t] += by * v[t];
			}
		}
		if (rest > 0) {
			gx_v16 v[TERMS] = {};
#pragma GCC unroll 6
			for (int t = 0; t < terms; t++) memcpy(&v[t], x[t] + whole, (size_t)rest * sizeof *dy);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++) {
				gx_v16 by = {};
				memcpy(&by, dy + r * pitch + whole, (size_t)rest * sizeof *dy);
#pragma GCC unroll 6
				for (int t = 0; t < terms; t++) sum[r][t] += by * v[t];
			}
		}
#pragma GCC unroll 6
		for (int t = 0; t < terms; t++) x[t] += d->x_image;
	}
#pragma GCC unroll 4
	for (int r = 0; r < rows; r++) {
		float *to = d->dw + (output + r) * d->down + term;
#pragma GCC unroll 6
		for (int t = 0; t < terms; t++)
			to[t] = d->add ? to[t] + total(sum[r][t]) : total(sum[r][t]);
	}
}

INLINE void bias(const gx_dots *d, int64_t output) {
	gx_v16 sum[2] = {};
	const float *dy = d->dy + output * d->pitch;
	for (int64_t b = 0; b < d->images; b++, dy += d->dy_image) {
		int64_t i = 0;
		for (; i + 2 * GX_LANES <= d->pixels; i += 2 * GX_LANES)
			sum[0] += GX_AT(dy + i), sum[1] += GX_AT(dy + i + GX_LANES);
		for (int64_t l = 0; i < d->pixels; i++, l++) sum[l / GX_LANES][l % GX_LANES] += dy[i];
	}
	float s = total(sum[0] + sum[1]);
	d->dbias[output] = d->add ? d->dbias[output] + s : s;
}

#define EACH_TILE(r) CASE(r, 1) CASE(r, 2) CASE(r, 3) CASE(r, 4) CASE(r, 5) CASE(r, 6)

// large_tile is for registers of sixteen numbers, small_tile for all others.
INLINE void large_tile(const gx_dots *d, int64_t output, int64_t rows, int64_t term,
	int64_t terms) {
#define CASE(r, t) \
	case r * 8 + t: tile(d, output, term, r, t); return;
	switch (rows * 8 + terms) {
		EACH_TILE(1)
		EACH_TILE(2)
		EACH_TILE(3)
		EACH_TILE(4)
	}
#undef CASE
}

INLINE void small_tile(const gx_dots *d, int64_t output, int64_t rows, int64_t term,
	int64_t terms) {
	switch (terms) {
	case 1: tile(d, output, term, 1, 1); return;
	case 2: tile(d, output, term, 1, 2); return;
	case 3: tile(d, output, term, 1, 3); return;
	}
}

INLINE void tiles(const gx_dots *d, int64_t high, int64_t wide,
	void (*one)(const gx_dots *, int64_t, int64_t, int64_t, int64_t)) {
	int64_t down = (d->outputs + high - 1) / high, across = (d->terms + wide - 1) / wide;
	for (int64_t i = 0; i < down; i++) {
		int64_t o = d->outputs * i / down, rows = d->outputs * (i + 1) / down - o;
		for (int64_t k = 0; k < across; k++) {
			int64_t t = d->terms * k / across;
			one(d, o, rows, t, d->terms * (k + 1) / across - t);
		}
		for (int64_t r = 0; d->dbias && r < rows; r++) bias(d, o + r);
	}
}

#if defined(__x86_64__)
__attribute__((target("arch=x86-64-v4"))) static void run_large(const gx_dots *d) { tiles(d, ROWS,
	TERMS, large_tile); }

__attribute__((target_clones("default", "arch=x86-64-v3"))) static void run_small(const gx_dots *d) { tiles(d, 1, 3, small_tile); }

void gx_dots_run(const gx_dots *d) {
	if (gx_gemm_can())
		run_large(d);
	else
		run_small(d);
}
#else
void gx_dots_run(const gx_dots *d) { tiles(d, 1, 3, small_tile); }
#endif
