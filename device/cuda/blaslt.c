//go:build cuda

#include "blaslt.h"

#include <dlfcn.h>

int cuCtxSetCurrent(void *ctx);

#define LOAD(name) \
	if (!(f->name = dlsym(lib, "cublasLt" #name))) { \
		*missing = "cublasLt" #name; \
		return 1; \
	}

int gcu_lt_load(void *lib, gcu_lt *f, const char **missing) {
	LOAD(Create)
	LOAD(MatmulDescCreate)
	LOAD(MatmulDescSetAttribute)
	LOAD(MatmulDescDestroy)
	LOAD(MatrixLayoutCreate)
	LOAD(MatrixLayoutDestroy)
	LOAD(MatmulPreferenceCreate)
	LOAD(MatmulPreferenceSetAttribute)
	LOAD(MatmulPreferenceDestroy)
	LOAD(MatmulAlgoGetHeuristic)
	LOAD(Matmul)
	return 0;
}

int gcu_lt_open(gcu_lt *f, void *ctx, void **handle) {
	int err = cuCtxSetCurrent(ctx);
	return err ? err : f->Create(handle);
}

// Attributes of descriptions and of preferences, and the reductions whose order is fixed.
enum { trans_a = 3, trans_b = 4, epilogue = 7, bias_pointer = 8 };
enum { most_bytes = 1, reductions = 3, alignment_a = 5, alignment_d = 8 };
enum { by_compute_type = 2, by_output_type = 4 };

// described holds the library's descriptions of a product.
typedef struct {
	void *product, *a, *b, *c;
} described;

static void forget(gcu_lt *f, described *d) {
	if (d->product) f->MatmulDescDestroy(d->product);
	if (d->a) f->MatrixLayoutDestroy(d->a);
	if (d->b) f->MatrixLayoutDestroy(d->b);
	if (d->c) f->MatrixLayoutDestroy(d->c);
}

static int describe(gcu_lt *f, const gcu_lt_product *p, const gcu_lt_memory *at, described *d) {
	int ta = p->ta, tb = p->tb;
	uint32_t end = (uint32_t)p->epilogue;
	int err = f->MatmulDescCreate(&d->product, p->compute, 0);
	if (!err) err = f->MatmulDescSetAttribute(d->product, trans_a, &ta, sizeof ta);
	if (!err) err = f->MatmulDescSetAttribute(d->product, trans_b, &tb, sizeof tb);
	if (!err) err = f->MatmulDescSetAttribute(d->product, epilogue, &end, sizeof end);
	if (!err) err = f->MatmulDescSetAttribute(d->product, bias_pointer, &at->bias, sizeof at->bias);
	if (!err) err = f->MatrixLayoutCreate(&d->a, p->type, ta ? p->k : p->m, ta ? p->m : p->k,
		p->lda);
	if (!err) err = f->MatrixLayoutCreate(&d->b, p->type, tb ? p->n : p->k, tb ? p->k : p->n,
		p->ldb);
	if (!err) err = f->MatrixLayoutCreate(&d->c, p->type, p->m, p->n, p->ldc);
	return err;
}

int gcu_lt_choose(gcu_lt *f, void *ctx, void *handle, const gcu_lt_product *p,
	const gcu_lt_memory *at, gcu_lt_choice *choice) {
	described d = {0};
	void *wish = 0;
	uint64_t bytes = at->bytes;
	uint32_t fixed = by_compute_type | by_output_type, aligned = 16;
	int found = 0, err = cuCtxSetCurrent(ctx);
	if (!err) err = describe(f, p, at, &d);
	if (!err) err = f->MatmulPreferenceCreate(&wish);
	if (!err) err = f->MatmulPreferenceSetAttribute(wish, most_bytes, &bytes, sizeof bytes);
	if (!err) err = f->MatmulPreferenceSetAttribute(wish, reductions, &fixed, sizeof fixed);
	for (int k = alignment_a; !err && k <= alignment_d; k++)
		err = f->MatmulPreferenceSetAttribute(wish, k, &aligned, sizeof aligned);
	if (!err) err = f->MatmulAlgoGetHeuristic(handle, d.product, d.a, d.b, d.c, d.c, wish, 1,
		choice, &found);
	if (!err && found == 0) err = gcu_lt_declined;
	if (!err) err = choice->state;
	if (wish) f->MatmulPreferenceDestroy(wish);
	forget(f, &d);
	return err;
}

int gcu_lt_run(gcu_lt *f, void *ctx, void *handle, void *stream, const gcu_lt_product *p,
	const gcu_lt_memory *at, const gcu_lt_choice *choice) {
	described d = {0};
	float one = 1, zero = 0;
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = describe(f, p, at, &d);
	if (!err) err = f->Matmul(handle, d.product, &one, at->a, d.a, at->b, d.b, &zero, at->c, d.c,
		at->c, d.c, choice->algo, at->space, at->bytes, stream);
	forget(f, &d);
	return err;
}
