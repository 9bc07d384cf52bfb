#include "direct.h"

#include "gemm.h"
#include "gx.h"

#pragma GCC optimize("no-unswitch-loops", "no-version-loops-for-strides", "no-tree-slp-vectorize") // one loop for each size of a tile

// The sums of a tile of outputs and pixels stay in registers. A result is a sum in the order of its
// terms, whichever tile it is in.

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 6, WIDE = 4 * GX_LANES, NEAR = 6 << 10 }; // NEAR: numbers of x that stay in the first cache

typedef struct {
	int64_t output, pixel, lanes; // lanes of the last vector
	const float *first;           // a number for each output with which its sums begin
} spot;

// finish writes n sums of each of rows outputs that are wide apart.
static __attribute__((noinline)) void finish(const gx_direct *d, spot s, const float *sum, int rows,
	int64_t wide, int64_t n) {
	for (int r = 0; r < rows; r++, sum += wide) {
		int64_t at = (s.output + r) * d->pitch + s.pixel;
		for (int64_t i = 0; i < n; i++) {
			float v = d->add ? sum[i] + d->add[at + i] : sum[i];
			d->y[at + i] = d->relu && v < 0.0f ? 0.0f : v;
		}
	}
}

#define TILE large
#define LANES GX_LANES
#define VECTORS 4
#define VECTOR gx_v16
#define NUMBERS gx_i16
#include "directtile.h"

#define TILE small
#define LANES GX_HALF
#define VECTORS 8
#define VECTOR gx_v8
#define NUMBERS gx_i8
#include "directtile.h"

#define EACH_TILE(r) CASE(r, 1) CASE(r, 2) CASE(r, 3) CASE(r, 4)

// large_tile is for registers of sixteen numbers, small_tile for all others.
INLINE void large_tile(const gx_direct *d, spot s, int64_t rows, int64_t vectors) {
#define CASE(r, v) \
	case r * 8 + v: large(d, s, r, v); return;
	switch (rows * 8 + vectors) {
		EACH_TILE(1)
		EACH_TILE(2)
		EACH_TILE(3)
		EACH_TILE(4)
		EACH_TILE(5)
		EACH_TILE(6)
	}
#undef CASE
}

INLINE void small_tile(const gx_direct *d, spot s, int64_t rows, int64_t vectors) {
	switch (vectors > 1 ? rows * 8 + vectors : 0) {
	case 8 + 2: small(d, s, 1, 4); return;
	case 8 + 3: small(d, s, 1, 6); return;
	case 8 + 4: small(d, s, 1, 8); return;
	case 16 + 2: small(d, s, 2, 4); return;
	}
	switch (rows) {
	case 1: small(d, s, 1, 2); return;
	case 2: small(d, s, 2, 2); return;
	case 3: small(d, s, 3, 2); return;
	case 4: small(d, s, 4, 2); return;
	case 5: small(d, s, 5, 2); return;
	case 6: small(d, s, 6, 2); return;
	}
}

// small_wide is the number of pixels of a small tile. A multiplication takes as long as eight others
// begin: few outputs take more pixels, so that so many sums do not wait for each other.
INLINE int64_t small_wide(const gx_direct *d) {
	return d->outputs == 1 ? WIDE : d->outputs == 2 ? 2 * GX_LANES : GX_LANES;
}

INLINE void tiles(const gx_direct *d, int64_t most, int64_t wide,
	void (*one)(const gx_direct *, spot, int64_t, int64_t)) {
	static const float zeros[ROWS];
	int64_t count = (d->outputs + most - 1) / most;
	int64_t block = gx_max(1, NEAR / gx_max(1, d->terms) / wide) * wide;
	for (int64_t begin = 0; begin < d->pixels; begin += block)
		for (int64_t i = 0; i < count; i++) {
			int64_t o = d->outputs * i / count, rows = d->outputs * (i + 1) / count - o,
				end = gx_min(begin + block, d->pixels);
			for (int64_t p = begin; p < end; p += wide) {
				int64_t n = gx_min(end - p, wide), vectors = (n + GX_LANES - 1) / GX_LANES;
				one(d, (spot){o, p, n - (vectors - 1) * GX_LANES, d->bias ? d->bias + o : zeros},
					rows, vectors);
			}
		}
}

#if defined(__x86_64__)
__attribute__((target("arch=x86-64-v4"))) static void run_large(const gx_direct *d) {
	tiles(d, ROWS, WIDE, large_tile);
}

__attribute__((target_clones("default", "arch=x86-64-v3"))) static void run_small(
	const gx_direct *d) {
	tiles(d, ROWS, small_wide(d), small_tile);
}

void gx_direct_run(const gx_direct *d) {
	if (gx_gemm_can())
		run_large(d);
	else
		run_small(d);
}
#else
void gx_direct_run(const gx_direct *d) { tiles(d, ROWS, small_wide(d), small_tile); }
#endif
