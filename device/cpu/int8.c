//go:build !nodnn

#include "int8.h"

#include "dnnprog.h"

#include "gx.h"

static const int weight_tags[] = {dnnl_oi, dnnl_oiw, dnnl_oihw, dnnl_oidhw};
static const int group_tags[] = {dnnl_x, dnnl_goiw, dnnl_goihw, dnnl_goidhw};

// tag_of returns the library's name of a layout of data.
static int tag_of(int layout, int axes) { return axes ? gx_layout_tag(layout, axes) : dnnl_nc; }

// descs are the descriptions of the operands.
typedef struct {
	gx_md x, y, w, any_w, last_x, last_y, sum, last_sum, vector;
	dnnl_dims_t stride, dilate, pad, pad_end;
} descs;

static int describe(gx_prog *p, const gx_int8 *c, descs *d) {
	int n = (int)c->axes, last = tag_of(GX_LAST, n), grouped = c->groups > 1;
	int64_t x[5] = {c->batch, c->ic}, y[5] = {c->batch, c->oc}, v[5] = {1, c->oc, 1, 1, 1};
	int64_t w[6] = {c->groups, c->oc / c->groups, c->ic / c->groups}, *window = w + 3;
	int64_t *all = grouped ? w : w + 1;
	for (int i = 0; i < n; i++) {
		x[2 + i] = c->in[i], y[2 + i] = c->out[i], window[i] = c->kernel[i];
		d->stride[i] = c->stride[i], d->dilate[i] = c->dilate[i] - 1, d->pad[i] = c->pad[i];
		d->pad_end[i] = (c->out[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilate[i] + 1 -
			c->in[i] - c->pad[i];
	}
	int xt = c->x_type, yt = c->y_type, st = c->sum_type;
	GX_TRY(gx_prog_md(p, &d->x, xt, n + 2, x, tag_of(c->x_layout, n)));
	GX_TRY(gx_prog_md(p, &d->last_x, xt, n + 2, x, last));
	GX_TRY(gx_prog_md(p, &d->y, yt, n + 2, y, tag_of(c->y_layout, n)));
	GX_TRY(gx_prog_md(p, &d->last_y, yt, n + 2, y, last));
	int tag = grouped ? group_tags[n] : weight_tags[n];
	GX_TRY(gx_prog_md(p, &d->w, GX_INT8, n + 2 + grouped, all, tag));
	GX_TRY(gx_prog_md(p, &d->any_w, GX_INT8, n + 2 + grouped, all, dnnl_format_tag_any));
	GX_TRY(gx_prog_md(p, &d->vector, GX_FLOAT, n + 2, v, tag_of(GX_PLAIN, n)));
	if (c->sum_type == GX_NONE) return 0;
	GX_TRY(gx_prog_md(p, &d->sum, st, n + 2, y, tag_of(c->sum_layout, n)));
	return gx_prog_md(p, &d->last_sum, st, n + 2, y, last);
}

static int append_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t alg, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_post_ops_append_eltwise(ops, alg, alpha, 0.0f);
#else
	return dnnl_post_ops_append_eltwise(ops, 1.0f, alg, alpha, 0.0f);
#endif
}

static int append_sum(dnnl_post_ops_t ops, const gx_int8 *c) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_post_ops_append_sum(ops, c->sum_step, 0, gx_dnnl_type(c->sum_type));
#else
	return dnnl_post_ops_append_sum_v2(ops, c->sum_step, gx_dnnl_type(c->sum_type));
#endif
}

static int append(dnnl_post_ops_t ops, const gx_int8 *c, const descs *d) {
	GX_TRY(dnnl_post_ops_append_binary(ops, dnnl_binary_mul, d->vector));
	GX_TRY(dnnl_post_ops_append_binary(ops, dnnl_binary_add, d->vector));
	if (c->sum_type != GX_NONE) GX_TRY(append_sum(ops, c));
	if (c->relu) GX_TRY(append_eltwise(ops, dnnl_eltwise_relu, 0.0f));
	if (c->y_type != GX_FLOAT) GX_TRY(append_eltwise(ops, dnnl_eltwise_linear, c->y_scale));
	return 0;
}

static int create_dense(dnnl_primitive_desc_t *pd, const descs *d, dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_inner_product_forward_primitive_desc_create(pd, gx_engine(),
		dnnl_forward_inference, d->last_x, d->any_w, 0, d->last_y, attr);
#else
	dnnl_inner_product_desc_t id;
	GX_TRY(dnnl_inner_product_forward_desc_init(&id, dnnl_forward_inference, d->last_x, d->any_w, 0,
		d->last_y));
	return dnnl_primitive_desc_create(pd, &id, attr, gx_engine(), 0);
#endif
}

static int create(dnnl_primitive_desc_t *pd, const descs *d, dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_forward_primitive_desc_create(pd, gx_engine(), dnnl_forward_inference,
		dnnl_convolution_direct, d->last_x, d->any_w, 0, d->last_y, d->stride, d->dilate, d->pad,
		d->pad_end, attr);
#else
	dnnl_convolution_desc_t cd;
	GX_TRY(dnnl_dilated_convolution_forward_desc_init(&cd, dnnl_forward_inference,
		dnnl_convolution_direct, d->last_x, d->any_w, 0, d->last_y, d->stride, d->dilate, d->pad,
		d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, attr, gx_engine(), 0);
#endif
}

// exact reports whether an implementation adds products in 32 bits from the start. Others add pairs
// of products in 16 bits, which saturate.
static int exact(const char *impl) { return strstr(impl, "vnni") || strstr(impl, "amx"); }

int gx_int8_program(gx_prog **out, const gx_int8 *c, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	descs d;
	dnnl_post_ops_t ops;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;
	GX_TRY(describe(p, c, &d));
	GX_TRY(dnnl_post_ops_create(&ops));
	int err = append(ops, c, &d);
	if (err) {
		dnnl_post_ops_destroy(ops);
		return err;
	}
	GX_TRY(gx_prog_post_ops(p, ops, &attr));
	GX_TRY(c->axes ? create(&pd, &d, attr) : create_dense(&pd, &d, attr));
	GX_TRY(gx_prog_keep(p, pd));
	if (!exact(gx_impl(pd))) return dnnl_unimplemented;
	gx_place px, pw = {1, 0}, py, final = {4, 0};
	gx_md w = gx_query(pd, dnnl_query_weights_md);
	GX_TRY(gx_prog_use(p, d.x, (gx_place){0, 0}, d.last_x, &px));
	if (c->packed)
		gx_prog_set_packed(p, w);
	else
		GX_TRY(gx_prog_use(p, d.w, pw, w, &pw));
	GX_TRY(gx_prog_place(p, d.last_y, d.y, final, &py));
	if (c->sum_type != GX_NONE)
		GX_TRY(gx_prog_copy(p, d.sum, (gx_place){5, 0}, d.last_sum, py));
	gx_bind binds[] = {{DNNL_ARG_SRC, d.last_x, px}, {DNNL_ARG_WEIGHTS, w, pw},
		{DNNL_ARG_DST, d.last_y, py},
		{DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, d.vector, {2, 0}},
		{DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1, d.vector, {3, 0}}};
	GX_TRY(gx_prog_step(p, pd, binds, 5));
	return gx_prog_deliver(p, d.last_y, py, d.y, final);
}

int gx_int8_pack(gx_prog **out, const gx_int8 *c, const gx_prog *layer, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	descs d;
	GX_TRY(describe(p, c, &d));
	return gx_prog_copy(p, d.w, (gx_place){0, 0}, gx_prog_packed(layer), (gx_place){1, 0});
}
