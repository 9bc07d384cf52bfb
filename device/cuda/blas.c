//go:build cuda

#include "blas.h"

#include <dlfcn.h>

int cuCtxSetCurrent(void *ctx);

#define LOAD(name) \
	if (!(f->name = dlsym(lib, "cublas" #name))) { \
		*missing = "cublas" #name; \
		return 1; \
	}

int gcu_blas_load(void *lib, gcu_blas *f, const char **missing) {
	LOAD(Create_v2)
	LOAD(SetStream_v2)
	LOAD(SetMathMode)
	LOAD(GemmStridedBatchedEx)
	f->SetWorkspace_v2 = dlsym(lib, "cublasSetWorkspace_v2");
	return 0;
}

int gcu_blas_open(gcu_blas *f, void *ctx, void *stream, int math, void *space, size_t bytes,
	void **handle) {
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = f->Create_v2(handle);
	if (!err) err = f->SetStream_v2(*handle, stream);
	if (!err) err = f->SetMathMode(*handle, math);
	if (!err && space && f->SetWorkspace_v2) err = f->SetWorkspace_v2(*handle, space, bytes);
	return err;
}

int gcu_blas_gemm(gcu_blas *f, void *ctx, void *handle, const gcu_gemm *g, const void *a,
	const void *b, void *c) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	float fa = (float)g->alpha, fb = (float)g->beta;
	const void *alpha = g->doubles ? (const void *)&g->alpha : &fa,
		*beta = g->doubles ? (const void *)&g->beta : &fb;
	return f->GemmStridedBatchedEx(handle, g->ta, g->tb, g->m, g->n, g->k, alpha, a, g->type,
		g->lda, g->sa, b, g->type, g->ldb, g->sb, beta, c, g->type, g->ldc,
	                               g->sc, g->batch, g->compute, -1);
}
