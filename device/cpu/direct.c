#include "direct.h"

#include "gemm.h"
#include "gx.h"

#pragma GCC optimize("no-unswitch-loops", "no-version-loops-for-strides", "no-tree-slp-vectorize") // one loop for each size of a tile

// The sums of a tile of outputs and pixels stay in registers. A result is a sum in the order of its
// terms, whichever tile it is in.

#define INLINE static inline __attribute__((always_inline))

enum { ROWS = 6, VECTORS = 4, NEAR = 6 << 10 }; // NEAR: numbers of x that stay in the first cache

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

// tile computes rows outputs of vectors of pixels; both are constants at every call.
INLINE void tile(const gx_direct *d, spot s, int rows, int vectors) {
	gx_v16 sum[ROWS][VECTORS] = {};
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		gx_v16 first = (gx_v16){} + s.first[r]; // the other way round GCC 12 sets lane by lane
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++) sum[r][v] = first;
	}
	const float *w = d->w + s.output * d->down, *x = d->x + s.pixel;
	int64_t down = d->down, along = d->along, at = s.output * d->pitch + s.pixel;
	for (int64_t k = 0; k < d->terms; k++, w += along) {
		const float *from = x + d->at[k];
		gx_v16 term[VECTORS];
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++) term[v] = GX_AT(from + v * GX_LANES);
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++) {
			gx_v16 factor = w[r * down] - (gx_v16){};
#pragma GCC unroll 4
			for (int v = 0; v < vectors; v++) sum[r][v] += factor * term[v];
		}
	}
	if (s.lanes < GX_LANES) {
		gx_v16 out[ROWS][VECTORS];
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < vectors; v++) out[r][v] = sum[r][v];
		finish(d, s, (const float *)out, rows, VECTORS * GX_LANES,
			(vectors - 1) * GX_LANES + s.lanes);
		return;
	}
	if (d->add)
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < vectors; v++)
				sum[r][v] += GX_AT(d->add + at + r * d->pitch + v * GX_LANES);
	if (d->relu)
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
			for (int v = 0; v < vectors; v++)
				sum[r][v] = (gx_v16)((gx_i16)sum[r][v] & ~(gx_i16)(sum[r][v] < 0.0f));
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
		for (int v = 0; v < vectors; v++)
			GX_AT(d->y + at + r * d->pitch + v * GX_LANES) = sum[r][v];
}

#define EACH_TILE(r) CASE(r, 1) CASE(r, 2) CASE(r, 3) CASE(r, 4)

// large_tile is for registers of sixteen numbers, small_tile for all others.
INLINE void large_tile(const gx_direct *d, spot s, int64_t rows, int64_t vectors) {
#define CASE(r, v) \
	case r * 8 + v: tile(d, s, r, v); return;
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
	switch (rows) {
	case 1: tile(d, s, 1, 1); return;
	case 2: tile(d, s, 2, 1); return;
	case 3: tile(d, s, 3, 1); return;
	}
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
	tiles(d, ROWS, VECTORS * GX_LANES, large_tile);
}

__attribute__((target_clones("default", "arch=x86-64-v3"))) static void run_small(const gx_direct *d) {
	tiles(d, 3, GX_LANES, small_tile);
}

void gx_direct_run(const gx_direct *d) {
	if (gx_gemm_can())
		run_large(d);
	else
		run_small(d);
}
#else
void gx_direct_run(const gx_direct *d) { tiles(d, 3, GX_LANES, small_tile); }
#endif
