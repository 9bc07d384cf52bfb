//go:build nodnn

#include <dnnl.h>

#include "gx.h"

#include <omp.h>

// Matrix products for all processors, where gemm.c has nothing better. The sums of a tile of ROWS x
// COLS results stay in registers; both operands are packed, so that a tile reads them in order. A
// result is a sum in the order of its terms for any number of threads.

enum { ROWS = 6, COLS = 16, DEPTH = 256, WIDTH = 256 };

typedef struct {
	float *c;
	const float *a, *b;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	int ta, tb;
	int64_t down, across; // parts into which rows and columns are split
} job;

typedef struct {
	int64_t top, bottom, left, right;
} area;

#define INLINE static inline __attribute__((always_inline))

// pack_columns packs k terms, from the given one, of n <= COLS columns of op(B).
INLINE void pack_columns(float *d, const job *j, int64_t left, int64_t n, int64_t from, int64_t k) {
	if (n < COLS) memset(d, 0, (size_t)(k * COLS) * sizeof *d);
	if (j->tb) {
		for (int64_t c = 0; c < n; c++) {
			const float *s = j->b + (left + c) * j->ldb + from;
			for (int64_t i = 0; i < k; i++) d[i * COLS + c] = s[i];
		}
		return;
	}
	for (int64_t i = 0; i < k; i++, d += COLS) {
		const float *s = j->b + (from + i) * j->ldb + left;
		for (int64_t c = 0; c < n; c++) d[c] = s[c];
	}
}

// pack_rows packs k terms of n <= ROWS rows of op(A).
INLINE void pack_rows(float *d, const job *j, int64_t top, int64_t n, int64_t from, int64_t k) {
	int64_t row = j->ta ? 1 : j->lda, term = j->ta ? j->lda : 1;
	const float *s = j->a + top * row + from * term;
	for (int64_t i = 0; i < k; i++, s += term)
		for (int64_t r = 0; r < ROWS; r++) *d++ = r < n ? s[r * row] : 0.0f;
}

// tile adds the sums of k terms to ROWS x COLS results, of which rows x cols are there. Terms of B
// are step floats apart.
INLINE void tile(const job *j, float *c, const float *a, const float *b, int64_t step, int64_t k,
	int64_t rows, int64_t cols, float beta) {
	gx_v8 lo[ROWS] = {}, hi[ROWS] = {};
	for (int64_t i = 0; i < k; i++, a += ROWS, b += step) {
		gx_v8 x = GX_AT8(b), y = GX_AT8(b + GX_HALF);
#pragma GCC unroll 6
		for (int r = 0; r < ROWS; r++) {
			gx_v8 v = a[r] - (gx_v8){};
			lo[r] += v * x;
			hi[r] += v * y;
		}
	}
	float sum[ROWS][COLS];
	for (int r = 0; r < ROWS; r++) GX_AT8(sum[r]) = lo[r], GX_AT8(sum[r] + GX_HALF) = hi[r];
	for (int64_t r = 0; r < rows; r++, c += j->ldc)
		for (int64_t l = 0; l < cols; l++)
			c[l] = beta == 0.0f ? sum[r][l] * j->alpha : sum[r][l] * j->alpha + beta * c[l];
}

// multiply computes an area.
GX_CLONES static void multiply(const job *j, area r) {
	float columns[DEPTH * WIDTH] __attribute__((aligned(64))),
		rows[DEPTH * ROWS] __attribute__((aligned(64)));
	// An operand that is read once need not be packed
	int direct = !j->tb && r.bottom - r.top <= ROWS;
	for (int64_t left = r.left; left < r.right; left += WIDTH) {
		int64_t right = gx_min(left + WIDTH, r.right);
		for (int64_t from = 0; from < j->k; from += DEPTH) {
			int64_t k = gx_min(DEPTH, j->k - from);
			float beta = from == 0 ? j->beta : 1.0f;
			for (int64_t x = left; x < right; x += COLS)
				if (!direct || right - x < COLS)
					pack_columns(columns + (x - left) * k, j, x, gx_min(COLS, right - x), from, k);
			for (int64_t y = r.top; y < r.bottom; y += ROWS) {
				int64_t n = gx_min(ROWS, r.bottom - y);
				pack_rows(rows, j, y, n, from, k);
				for (int64_t x = left; x < right; x += COLS) {
					float *c = j->c + y * j->ldc + x;
					if (direct && right - x >= COLS)
						tile(j, c, rows, j->b + from * j->ldb + x, j->ldb, k, n, COLS, beta);
					else
						tile(j, c, rows, columns + (x - left) * k, COLS, k, n,
							gx_min(COLS, right - x), beta);
				}
			}
		}
	}
}

// bound returns the bound of part i of n things in whole units.
static int64_t bound(int64_t n, int64_t unit, int64_t i, int64_t parts) {
	return gx_min(n, (n + unit - 1) / unit * i / parts * unit);
}

static void areas(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) {
		int64_t x = i % j->across, y = i / j->across;
		area r = {bound(j->m, ROWS, y, j->down), bound(j->m, ROWS, y + 1, j->down),
			bound(j->n, COLS, x, j->across), bound(j->n, COLS, x + 1, j->across)};
		multiply(j, r);
	}
}

int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
	job j = {c, a, b, m, n, k, lda, ldb, ldc, alpha, beta, ta == 'T', tb == 'T', 1, 1};
	int64_t threads = omp_in_parallel() ? 1 : omp_get_max_threads(), tiles = (m + ROWS - 1) / ROWS,
		panels = (n + COLS - 1) / COLS;
	if (m * n * k < 1 << 15) threads = 1;
	// Parts of columns, unless there are more rows: then each part packs all columns.
	if (panels >= threads || panels >= tiles)
		j.across = gx_min(threads, panels);
	else
		j.down = gx_min(threads, tiles);
	gx_parallel((int)threads, j.down * j.across, 1, areas, &j);
	return 0;
}
