// Matrix products of row-major matrices.
#ifndef GX_PRODUCT_H
#define GX_PRODUCT_H

#include <stdint.h>

// gx_gemm describes C = alpha * op(A) * op(B) + beta * C with C of m x n and op(A) of m x k; ld are
// row pitches.
typedef struct {
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	int32_t ta, tb; // transposed
} gx_gemm;

int gx_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int threads);

// gx_sgemm_alone is gx_sgemm on the calling thread, which may be one of a team.
int gx_sgemm_alone(float *c, const float *a, const float *b, const gx_gemm *g);

// gx_batch_sgemm multiplies count matrices that lie sa, sb, sc elements apart.
int gx_batch_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int64_t count,
	int64_t sa, int64_t sb, int64_t sc, int threads);

// gx_step is the distance in floats between the matrices of an operand: inner between matrices of
// one batch, outer between batches.
typedef struct {
	int64_t inner, outer;
} gx_step;

// gx_grid_sgemm multiplies outer * inner matrices.
int gx_grid_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int64_t outer,
	int64_t inner, gx_step sa, gx_step sb, gx_step sc, int threads);

// gx_dense writes y (rows x out) = x (rows x in) * w' (out x in) + bias; bias may be null.
int gx_dense(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t in,
	int64_t out, int threads);

#endif
