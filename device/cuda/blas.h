//go:build cuda

// cuBLAS, opened at run time; the prototypes are our own and hold for versions 11 to 13.

#ifndef GX_BLAS_H
#define GX_BLAS_H

#include <stddef.h>

typedef struct {
	int (*Create_v2)(void **);
	int (*SetStream_v2)(void *, void *);
	int (*SetMathMode)(void *, int);
	int (*SetWorkspace_v2)(void *, void *, size_t); // 0: the library is older than 11.2
	int (*GemmStridedBatchedEx)(void *, int, int, int, int, int, const void *, const void *, int,
		int, long long, const void *, int, int, long long, const void *,
	                            void *, int, int, long long, int, int, int);
} gcu_blas;

// One product, or a batch of them, in the library's order: columns first.
typedef struct {
	int ta, tb, m, n, k, lda, ldb, ldc, batch, type, compute, doubles;
	long long sa, sb, sc;
	double alpha, beta;
} gcu_gemm;

int gcu_blas_load(void *lib, gcu_blas *f, const char **missing);
// gcu_blas_open makes a handle for a stream. Its working memory is the caller's, so that recorded
// products do not allocate any and results repeat; 0 leaves it to the library.
int gcu_blas_open(gcu_blas *f, void *ctx, void *stream, int math, void *space, size_t bytes,
	void **handle);
int gcu_blas_gemm(gcu_blas *f, void *ctx, void *handle, const gcu_gemm *g, const void *a,
	const void *b, void *c);

#endif
