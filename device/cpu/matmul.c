//go:build !nodnn

#include "matmul.h"

#include "dnnprog.h"

// operand describes rows x cols matrices; axes of one matrix are left out.
static int operand(gx_prog *p, gx_md *md, int type, const gx_matmul *g, const gx_grid *at,
	int64_t rows, int64_t cols) {
	int64_t dims[4], strides[4];
	int n = 0;
	if (g->outer > 1) dims[n] = g->outer, strides[n++] = at->outer;
	if (g->outer > 1 || g->inner > 1) dims[n] = g->inner, strides[n++] = at->inner;
	dims[n] = rows, strides[n++] = at->row;
	dims[n] = cols, strides[n++] = at->col;
	return gx_prog_strided_md(p, md, type, n, dims, strides);
}

static int row(gx_prog *p, gx_md *md, const gx_matmul *g) {
	int n = 2 + (g->outer > 1) + (g->outer > 1 || g->inner > 1);
	int64_t dims[4] = {1, 1, 1, 1}, strides[4] = {g->n, g->n, g->n, 1};
	dims[n - 1] = g->n, strides[n - 1] = 1;
	return gx_prog_strided_md(p, md, g->out, n, dims, strides);
}

static int matmul_pd(dnnl_primitive_desc_t *pd, gx_md a, gx_md b, gx_md bias, gx_md c,
	dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_matmul_primitive_desc_create(pd, gx_engine(), a, b, bias, c, attr);
#else
	dnnl_matmul_desc_t d;
	GX_TRY(dnnl_matmul_desc_init(&d, a, b, bias, c));
	return dnnl_primitive_desc_create(pd, &d, attr, gx_engine(), 0);
#endif
}

int gx_matmul_program(gx_prog **out, const gx_matmul *g, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_md a, b, c, bias = 0;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	GX_TRY(operand(p, &a, GX_BFLOAT, g, &g->a, g->m, g->k));
	GX_TRY(operand(p, &b, GX_BFLOAT, g, &g->b, g->k, g->n));
	GX_TRY(operand(p, &c, g->out, g, &g->c, g->m, g->n));
	if (g->bias) GX_TRY(row(p, &bias, g));
	GX_TRY(gx_prog_scale(p, g->alpha, g->beta, g->relu, &attr));
	GX_TRY(matmul_pd(&pd, a, b, bias, c, attr));
	GX_TRY(gx_prog_keep(p, pd));
	// A naive product is slower than converting everything to float32
	if (gx_naive(pd)) return dnnl_unimplemented;
	gx_bind binds[] = {{DNNL_ARG_SRC, a, {0, 0}}, {DNNL_ARG_WEIGHTS, b, {1, 0}},
		{DNNL_ARG_DST, c, {3, 0}}, {DNNL_ARG_BIAS, bias, {2, 0}}};
	return gx_prog_step(p, pd, binds, g->bias ? 4 : 3);
}
