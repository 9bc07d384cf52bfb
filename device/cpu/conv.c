//go:build !nodnn

#include "conv.h"

#include "dnnprog.h"
#include "gx.h"

#define TRY(call) \
	do { \
		int err_ = (int)(call); \
		if (err_) return err_; \
	} while (0)

// descs are the layouts of the operands and the layouts asked of primitives.
typedef struct {
	gx_md x, w, b, y, sum, dx; // as they come and go
	gx_md ax, aw, ay;          // as a primitive may choose
	dnnl_dims_t stride, dilate, pad, pad_end;
} descs;

static const int weight_tags[] = {dnnl_x, dnnl_oiw, dnnl_oihw, dnnl_oidhw};
static const int group_tags[] = {dnnl_x, dnnl_goiw, dnnl_goihw, dnnl_goidhw};

// Channels that fill whole vectors run fastest blocked. Others would be padded with zeros to a multiple of 16; channels
// last need no padding. With very few channels blocked kernels read the plain input directly. Depthwise convolutions
// take either; what is channels last already stays so.
static int use_channels_last(const gx_conv *c) {
	int64_t ic = c->ic / c->groups, oc = c->oc / c->groups;
	if (c->groups > 1) return c->x_layout == GX_LAST && ic == 1 && oc == 1;
	return ic >= 8 && (ic % 16 != 0 || oc % 16 != 0);
}

// wanted_tag is the layout asked for arrays with a number of channels, which come in layout now. Gradients keep to the
// layouts of the forward pass.
static int wanted_tag(const gx_conv *c, int64_t channels, int now) {
	int n = (int)c->axes;
	if (c->train && now != GX_PLAIN) return gx_layout_tag(now, n);
	if (c->winograd) return dnnl_format_tag_any;
	if (c->blocked && channels % 16 == 0) return gx_layout_tag(GX_BLOCK16, n);
	return use_channels_last(c) ? gx_layout_tag(GX_LAST, n) : (int)dnnl_format_tag_any;
}

static int make_descs(gx_prog *p, const gx_conv *c, descs *d) {
	int n = (int)c->axes;
	int64_t x[5] = {c->batch, c->ic}, y[5] = {c->batch, c->oc}, w[6], *k = w;
	if (c->groups > 1) *k++ = c->groups;
	*k++ = c->oc / c->groups;
	*k++ = c->ic / c->groups;
	for (int i = 0; i < n; i++) {
		x[2 + i] = c->in[i];
		y[2 + i] = c->out[i];
		*k++ = c->kernel[i];
		d->stride[i] = c->stride[i];
		d->dilate[i] = c->dilate[i] - 1;
		d->pad[i] = c->pad[i];
		d->pad_end[i] = (c->out[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilate[i] + 1 - c->in[i] - c->pad[i];
	}
	int wn = (int)(k - w);
	TRY(gx_prog_md(p, &d->x, n + 2, x, gx_layout_tag(c->x_layout, n)));
	TRY(gx_prog_md(p, &d->y, n + 2, y, gx_layout_tag(c->y_layout, n)));
	TRY(gx_prog_md(p, &d->dx, n + 2, x, gx_layout_tag(GX_PLAIN, n)));
	TRY(gx_prog_md(p, &d->sum, n + 2, y, gx_layout_tag(c->add_layout, n)));
	TRY(gx_prog_md(p, &d->w, wn, w, c->groups > 1 ? group_tags[n] : weight_tags[n]));
	TRY(gx_prog_md(p, &d->b, 1, &c->oc, dnnl_x));
	TRY(gx_prog_md(p, &d->ax, n + 2, x, wanted_tag(c, c->ic, c->x_layout)));
	TRY(gx_prog_md(p, &d->ay, n + 2, y, wanted_tag(c, c->oc, c->y_layout)));
	TRY(gx_prog_md(p, &d->aw, wn, w, dnnl_format_tag_any));
	return 0;
}

static dnnl_alg_kind_t algorithm(int winograd) { return winograd ? dnnl_convolution_winograd : dnnl_convolution_direct; }

static int forward_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const descs *d, dnnl_primitive_attr_t attr) {
	dnnl_alg_kind_t alg = algorithm(c->winograd);
	dnnl_prop_kind_t prop = c->train ? dnnl_forward_training : dnnl_forward_inference;
	gx_md b = c->bias ? d->b : 0;
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_forward_primitive_desc_create(pd, gx_engine(), prop, alg, d->ax, d->aw, b, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end, attr);
#else
	dnnl_convolution_desc_t cd;
	TRY(dnnl_dilated_convolution_forward_desc_init(&cd, prop, alg, d->ax, d->aw, b, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, attr, gx_engine(), 0);
#endif
}

// add_forward appends the convolution: y is where it writes.
static int add_forward(gx_prog *p, const gx_conv *c, const descs *d, dnnl_primitive_desc_t pd, gx_place py) {
	gx_md x = gx_query(pd, dnnl_query_src_md), w = gx_query(pd, dnnl_query_weights_md), y = gx_query(pd, dnnl_query_dst_md);
	gx_place px, pw = {1, 0};
	TRY(gx_prog_use(p, d->x, (gx_place){0, 0}, x, &px));
	if (c->packed)
		gx_prog_set_packed(p, w);
	else
		TRY(gx_prog_use(p, d->w, pw, w, &pw));
	if (c->add) TRY(gx_prog_copy(p, d->sum, (gx_place){4, 0}, y, py));
	gx_bind binds[] = {{DNNL_ARG_SRC, x, px}, {DNNL_ARG_WEIGHTS, w, pw}, {DNNL_ARG_DST, y, py}, {DNNL_ARG_BIAS, d->b, {2, 0}}};
	return gx_prog_step(p, pd, binds, c->bias ? 4 : 3);
}

// choose_y decides how the output leaves the program. Where only one pixel is left all layouts without padding are one.
static int choose_y(gx_prog *p, gx_conv *c, gx_md y) {
	int n = (int)c->axes;
	int64_t dims[5] = {c->batch, c->oc}, pixels = 1;
	for (int i = 0; i < n; i++) {
		dims[2 + i] = c->out[i];
		pixels *= c->out[i];
	}
	int layout = gx_layout_of(p, y, n + 2, dims);
	if (layout < 0) return 0;
	if (c->train && layout == GX_LAST) return 0; // other operators of training know plain arrays and blocks only
	c->y_layout = pixels == 1 ? GX_PLAIN : layout;
	return pixels == 1 || c->choose_y;
}

int gx_conv_forward(gx_prog **out, gx_conv *c, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	descs d;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_attr_t attr;
	TRY(make_descs(p, c, &d));
	TRY(gx_prog_post(p, c->add, c->relu, &attr));
	TRY(forward_pd(&pd, c, &d, attr));
	TRY(gx_prog_keep(p, pd));
	gx_md y = gx_query(pd, dnnl_query_dst_md);
	gx_place py, final = {3, 0};
	if (choose_y(p, c, y)) return add_forward(p, c, &d, pd, final);
	c->y_layout = GX_PLAIN;
	TRY(gx_prog_place(p, y, d.y, final, &py));
	TRY(add_forward(p, c, &d, pd, py));
	return gx_prog_deliver(p, y, py, d.y, final);
}

int gx_conv_pack(gx_prog **out, const gx_conv *c, const gx_prog *conv, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	descs d;
	TRY(make_descs(p, c, &d));
	return gx_prog_copy(p, d.w, (gx_place){0, 0}, gx_prog_packed(conv), (gx_place){1, 0});
}

static int data_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const descs *d, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr) {
	dnnl_alg_kind_t alg = algorithm(c->winograd);
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_backward_data_primitive_desc_create(pd, gx_engine(), alg, d->ax, d->aw, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end, hint, attr);
#else
	dnnl_convolution_desc_t cd;
	TRY(dnnl_dilated_convolution_backward_data_desc_init(&cd, alg, d->ax, d->aw, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, attr, gx_engine(), hint);
#endif
}

static int weights_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const descs *d, dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr) {
	dnnl_alg_kind_t alg = algorithm(c->winograd && !c->direct_dw);
	gx_md b = c->bias ? d->b : 0;
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_backward_weights_primitive_desc_create(pd, gx_engine(), alg, d->ax, d->aw, b, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end, hint, attr);
#else
	dnnl_convolution_desc_t cd;
	TRY(dnnl_dilated_convolution_backward_weights_desc_init(&cd, alg, d->ax, d->aw, b, d->ay,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, attr, gx_engine(), hint);
#endif
}

// moved remembers dy in a layout, so that both halves of backward share one reorder.
typedef struct {
	gx_md md;
	gx_place at;
} moved;

static int use_dy(gx_prog *p, moved *m, gx_md want, gx_place *got) {
	if (dnnl_memory_desc_equal(m->md, want)) {
		*got = m->at;
		return 0;
	}
	TRY(gx_prog_use(p, m->md, m->at, want, got));
	*m = (moved){want, *got};
	return 0;
}

static int add_weights(gx_prog *p, const gx_conv *c, const descs *d, dnnl_primitive_desc_t hint, moved *dy) {
	dnnl_primitive_desc_t pd;
	TRY(weights_pd(&pd, c, d, hint, gx_prog_attr(p)));
	TRY(gx_prog_keep(p, pd));
	gx_md x = gx_query(pd, dnnl_query_src_md), w = gx_query(pd, dnnl_query_diff_weights_md), y = gx_query(pd, dnnl_query_diff_dst_md);
	gx_place px, pw, py, final = {4, 0};
	TRY(gx_prog_use(p, d->x, (gx_place){1, 0}, x, &px));
	TRY(use_dy(p, dy, y, &py));
	TRY(gx_prog_place(p, w, d->w, final, &pw));
	gx_bind binds[] = {{DNNL_ARG_SRC, x, px}, {DNNL_ARG_DIFF_DST, y, py}, {DNNL_ARG_DIFF_WEIGHTS, w, pw}, {DNNL_ARG_DIFF_BIAS, d->b, {5, 0}}};
	TRY(gx_prog_step(p, pd, binds, c->bias ? 4 : 3));
	return gx_prog_deliver(p, w, pw, d->w, final);
}

// choose_dx decides how the gradient of data leaves the program.
static int choose_dx(gx_prog *p, gx_conv *c, gx_md x) {
	int n = (int)c->axes;
	int64_t dims[5] = {c->batch, c->ic};
	for (int i = 0; i < n; i++) dims[2 + i] = c->in[i];
	int layout = c->choose_dx ? gx_layout_of(p, x, n + 2, dims) : -1;
	if (layout == GX_LAST) layout = -1;
	c->dx_layout = layout < 0 ? GX_PLAIN : layout;
	return layout >= 0;
}

static int add_data(gx_prog *p, gx_conv *c, const descs *d, dnnl_primitive_desc_t hint, moved *dy) {
	dnnl_primitive_desc_t pd;
	TRY(data_pd(&pd, c, d, hint, gx_prog_attr(p)));
	TRY(gx_prog_keep(p, pd));
	gx_md x = gx_query(pd, dnnl_query_diff_src_md), w = gx_query(pd, dnnl_query_weights_md), y = gx_query(pd, dnnl_query_diff_dst_md);
	gx_place px, pw, py, final = {3, 0};
	TRY(gx_prog_use(p, d->w, (gx_place){2, 0}, w, &pw));
	TRY(use_dy(p, dy, y, &py));
	gx_md dx = choose_dx(p, c, x) ? x : d->dx;
	TRY(gx_prog_place(p, x, dx, final, &px));
	gx_bind binds[] = {{DNNL_ARG_DIFF_SRC, x, px}, {DNNL_ARG_WEIGHTS, w, pw}, {DNNL_ARG_DIFF_DST, y, py}};
	TRY(gx_prog_step(p, pd, binds, 3));
	return gx_prog_deliver(p, x, px, dx, final);
}

int gx_conv_backward(gx_prog **out, gx_conv *c, int want_x, int want_w, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	descs d;
	dnnl_primitive_desc_t hint;
	TRY(make_descs(p, c, &d));
	TRY(forward_pd(&hint, c, &d, gx_prog_attr(p)));
	TRY(gx_prog_keep(p, hint));
	moved dy = {d.y, {0, 0}};
	if (want_w) TRY(add_weights(p, c, &d, hint, &dy));
	if (want_x) TRY(add_data(p, c, &d, hint, &dy));
	return 0;
}
