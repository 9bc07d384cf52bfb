// What product.c wants of oneDNN, for binaries that are built without it: plaingemm.c has it.
#ifndef GX_NODNN_H
#define GX_NODNN_H

#include <stdint.h>

// dnnl_sgemm computes C = alpha * op(A) * op(B) + beta * C with the threads for which the calling
// one is ready, and returns 0.
int dnnl_sgemm(char ta, char tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

#endif
