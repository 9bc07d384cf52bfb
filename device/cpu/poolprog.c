//go:build !nodnn

#include "poolprog.h"

#include "dnnprog.h"
#include "gx.h"

int gx_pool_program(gx_prog **out, const gx_pool *c, int type, int64_t channels, int axes,
	int layout, int choose_y, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	int lead = 3 - axes;
	int64_t batch = c->planes / channels, x[5] = {batch, channels}, y[5] = {batch, channels};
	dnnl_dims_t kernel, stride, dilate = {0}, pad, pad_end;
	for (int i = 0; i < axes; i++) {
		int a = lead + i;
		x[2 + i] = c->in[a], y[2 + i] = c->out[a];
		kernel[i] = c->kernel[a], stride[i] = c->stride[a], pad[i] = c->pad[a];
		pad_end[i] = gx_max(0, (c->out[a] - 1) * c->stride[a] + c->kernel[a] - c->in[a] -
			c->pad[a]);
	}
	dnnl_alg_kind_t alg = c->type == GX_POOL_MAX ? dnnl_pooling_max
	                      : c->include_pad       ? dnnl_pooling_avg_include_padding
	                                             : dnnl_pooling_avg_exclude_padding;
	gx_md mx, my, plain;
	dnnl_primitive_desc_t pd;
	GX_TRY(gx_prog_md(p, &mx, type, axes + 2, x, gx_layout_tag(layout, axes)));
	GX_TRY(gx_prog_md(p, &my, type, axes + 2, y, gx_layout_tag(layout, axes)));
	GX_TRY(gx_prog_md(p, &plain, type, axes + 2, y, gx_layout_tag(choose_y ? layout : GX_PLAIN, axes)));
#if DNNL_VERSION_MAJOR >= 3
	GX_TRY(dnnl_pooling_forward_primitive_desc_create(&pd, gx_engine(), dnnl_forward_inference, alg,
		mx, my, stride, kernel, dilate, pad,
		pad_end, gx_prog_attr(p)));
#else
	(void)dilate;
	dnnl_pooling_desc_t d;
	GX_TRY(dnnl_pooling_forward_desc_init(&d, dnnl_forward_inference, alg, mx, my, stride, kernel,
		pad, pad_end));
	GX_TRY(dnnl_primitive_desc_create(&pd, &d, gx_prog_attr(p), gx_engine(), 0));
#endif
	GX_TRY(gx_prog_keep(p, pd));
	gx_place py, final = {1, 0};
	GX_TRY(gx_prog_place(p, my, plain, final, &py));
	gx_bind binds[] = {{DNNL_ARG_SRC, mx, {0, 0}}, {DNNL_ARG_DST, my, py}};
	GX_TRY(gx_prog_step(p, pd, binds, 2));
	return gx_prog_deliver(p, my, py, plain, final);
}
