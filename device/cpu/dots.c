#include "direct.h"

#include "gemm.h"
#include "gx.h"

#pragma GCC optimize("no-unswitch-loops", "no-version-loops-for-strides", "no-tree-slp-vectorize") // one loop for each size of a tile

// The lanes of sums are pixels; at the end the lanes are added in one order.

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 4, TERMS = 6 };

#define TILE large
#define PARTS 1
#define VECTOR gx_v16
#include "dotstile.h"

#define TILE small
#define PARTS 2
#define VECTOR gx_v8
#include "dotstile.h"

INLINE void bias(const gx_dots *d, int64_t output) {
	gx_v8 sum[4] = {};
	const float *dy = d->dy + output * d->pitch;
	for (int64_t b = 0; b < d->images; b++, dy += d->dy_image) {
		int64_t i = 0;
		for (; i + 4 * GX_HALF <= d->pixels; i += 4 * GX_HALF)
			for (int k = 0; k < 4; k++) sum[k] += GX_AT8(dy + i + k * GX_HALF);
		for (int64_t l = 0; i < d->pixels; i++, l++) sum[l / GX_HALF][l % GX_HALF] += dy[i];
	}
	gx_v8 lanes[2] = {sum[0] + sum[2], sum[1] + sum[3]};
	float s = gx_total(lanes);
	d->dbias[output] = d->add ? d->dbias[output] + s : s;
}

#define EACH_TILE(r) CASE(r, 1) CASE(r, 2) CASE(r, 3) CASE(r, 4) CASE(r, 5) CASE(r, 6)

// large_tile is for registers of sixteen numbers, small_tile for all others.
INLINE void large_tile(const gx_dots *d, int64_t output, int64_t rows, int64_t term,
	int64_t terms) {
#define CASE(r, t) \
	case r * 8 + t: large(d, output, term, r, t); return;
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
	case 1: small(d, output, term, 1, 1); return;
	case 2: small(d, output, term, 1, 2); return;
	case 3: small(d, output, term, 1, 3); return;
	case 4: small(d, output, term, 1, 4); return;
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

__attribute__((target_clones("default", "arch=x86-64-v3"))) static void run_small(
	const gx_dots *d) {
	tiles(d, 1, 4, small_tile);
}

void gx_dots_run(const gx_dots *d) {
	if (gx_gemm_can())
		run_large(d);
	else
		run_small(d);
}
#else
void gx_dots_run(const gx_dots *d) { tiles(d, 1, 4, small_tile); }
#endif
