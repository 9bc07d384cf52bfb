#include "product.h"

#include "gx.h"

// Products with few rows whose second operand is transposed, as dense layers and recurrent cells have them: both operands
// lie along the sum, so nothing is packed. A block of ROWS x COLS sums stays in registers of the longest vectors.

enum { ROWS = 4, COLS = 6, LANES = 16 };

typedef struct {
	float *c;
	const float *a, *b;
	const gx_gemm *g;
} job;

#if defined(__x86_64__)
#define WIDE __attribute__((target("arch=x86-64-v4")))
int gx_dot_gemm_fits(const gx_gemm *g) { return !g->ta && g->tb && g->m <= 48 && g->n >= 16 && g->k >= 64 && __builtin_cpu_supports("avx512f"); }
#else
#define WIDE
int gx_dot_gemm_fits(const gx_gemm *g) { return 0; }
#endif

#define INLINE static inline __attribute__((always_inline)) WIDE

// block computes rows x cols results, both constants at every call.
INLINE void block(const job *j, int64_t row, int64_t col, int rows, int cols) {
	const gx_gemm *g = j->g;
	const float *a = j->a + row * g->lda, *b = j->b + col * g->ldb;
	gx_v16 sum[ROWS][COLS];
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < cols; c++) sum[r][c] = (gx_v16){};
	int64_t k = 0;
	for (; k + LANES <= g->k; k += LANES) {
		gx_v16 x[ROWS];
		for (int r = 0; r < rows; r++) x[r] = GX_AT(a + r * g->lda + k);
		for (int c = 0; c < cols; c++) {
			gx_v16 y = GX_AT(b + c * g->ldb + k);
			for (int r = 0; r < rows; r++) sum[r][c] += x[r] * y;
		}
	}
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < cols; c++) {
			gx_v16 v = sum[r][c];
			float s = 0;
			for (int64_t i = k; i < g->k; i++) s += a[r * g->lda + i] * b[c * g->ldb + i];
			for (int i = 0; i < LANES; i++) s += v[i];
			float *d = j->c + (row + r) * g->ldc + col + c;
			*d = g->alpha * s + (g->beta == 0.0f ? 0.0f : g->beta * *d);
		}
}

#define CASE(r, c) \
	case (r) * 8 + (c): block(j, row, col, r, c); return
#define CASES(r) CASE(r, 1); CASE(r, 2); CASE(r, 3); CASE(r, 4); CASE(r, 5); CASE(r, 6)

WIDE static void any_block(const job *j, int64_t row, int64_t col, int rows, int cols) {
	switch (rows * 8 + cols) {
		CASES(1);
		CASES(2);
		CASES(3);
		CASES(4);
	}
}

// columns computes columns [begin, end) of the result, a few of b at a time for all rows.
static void columns(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t c = begin; c < end; c += COLS)
		for (int64_t r = 0; r < j->g->m; r += ROWS)
			any_block(j, r, c, (int)gx_min(ROWS, j->g->m - r), (int)gx_min(COLS, end - c));
}

void gx_dot_gemm(float *c, const float *a, const float *b, const gx_gemm *g, int threads) {
	job j = {c, a, b, g};
	gx_parallel(threads, g->n, COLS, columns, &j);
}
