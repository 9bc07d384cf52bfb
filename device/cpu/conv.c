//go:build !nodnn

#include "convpick.h"
#include "depthwise.h"

// add_forward appends the convolution: y is where it writes.
static int add_forward(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, const gx_pick *k, gx_place py) {
	gx_place px, pw = {1, 0};
	GX_TRY(gx_prog_use(p, d->x, (gx_place){0, 0}, k->x, &px));
	if (c->packed)
		gx_prog_set_packed(p, k->w);
	else
		GX_TRY(gx_prog_use(p, d->w, pw, k->w, &pw));
	if (c->add) GX_TRY(gx_prog_copy(p, d->sum, (gx_place){4, 0}, k->y, py));
	gx_bind binds[] = {{DNNL_ARG_SRC, k->x, px}, {DNNL_ARG_WEIGHTS, k->w, pw}, {DNNL_ARG_DST, k->y, py}, {DNNL_ARG_BIAS, d->b, {2, 0}}};
	return gx_prog_step(p, k->pd, binds, c->bias ? 4 : 3);
}

static void run_depthwise(const void *arg, void *const *at, int threads) {
	const gx_conv *c = arg;
	gx_planes a = {.x = at[0], .w = at[1], .bias = c->bias ? at[2] : 0, .y = at[3], .scratch = at[4]};
	gx_depthwise_forward(c, &a, threads);
}

// add_depthwise appends our own kernel, which reads and writes plain arrays.
static int add_depthwise(gx_prog *p, gx_conv *c, const gx_conv_descs *d, int threads) {
	gx_place at[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, gx_prog_room(p, threads * gx_depthwise_room(c))};
	if (c->packed) gx_prog_set_packed(p, d->w);
	c->y_layout = GX_PLAIN;
	return gx_prog_own(p, run_depthwise, "gomx:depthwise", c, sizeof *c, at, 5);
}

int gx_conv_forward(gx_prog **out, gx_conv *c, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_conv_descs d;
	gx_wish w = {.pass = GX_PASS_FORWARD};
	gx_pick k;
	GX_TRY(gx_conv_describe(p, c, &d));
	if (gx_depthwise_fits(c)) return add_depthwise(p, c, &d, threads);
	GX_TRY(gx_prog_post(p, c->add, c->relu, &w.attr));
	GX_TRY(gx_conv_pick(p, c, &d, &w, &k));
	gx_place py, final = {3, 0};
	int layout = gx_conv_leaves(c, w.pass, k.y);
	c->y_layout = layout < 0 ? GX_PLAIN : layout;
	if (layout >= 0) return add_forward(p, c, &d, &k, final);
	GX_TRY(gx_prog_place(p, k.y, d.y, final, &py));
	GX_TRY(add_forward(p, c, &d, &k, py));
	return gx_prog_deliver(p, k.y, py, d.y, final);
}

int gx_conv_pack(gx_prog **out, const gx_conv *c, const gx_prog *conv, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_conv_descs d;
	GX_TRY(gx_conv_describe(p, c, &d));
	return gx_prog_copy(p, d.w, (gx_place){0, 0}, gx_prog_packed(conv), (gx_place){1, 0});
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
	GX_TRY(gx_prog_use(p, m->md, m->at, want, got));
	*m = (moved){want, *got};
	return 0;
}

static int add_weights(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, gx_wish w, moved *dy) {
	gx_pick k;
	w.pass = GX_PASS_WEIGHTS;
	GX_TRY(gx_conv_pick(p, c, d, &w, &k));
	gx_place px, pw, py, final = {4, 0};
	GX_TRY(gx_prog_use(p, d->x, (gx_place){1, 0}, k.x, &px));
	GX_TRY(use_dy(p, dy, k.y, &py));
	GX_TRY(gx_prog_place(p, k.w, d->w, final, &pw));
	gx_bind binds[] = {{DNNL_ARG_SRC, k.x, px}, {DNNL_ARG_DIFF_DST, k.y, py}, {DNNL_ARG_DIFF_WEIGHTS, k.w, pw}, {DNNL_ARG_DIFF_BIAS, d->b, {5, 0}}};
	GX_TRY(gx_prog_step(p, k.pd, binds, c->bias ? 4 : 3));
	return gx_prog_deliver(p, k.w, pw, d->w, final);
}

static int add_data(gx_prog *p, gx_conv *c, const gx_conv_descs *d, gx_wish w, moved *dy) {
	gx_pick k;
	w.pass = GX_PASS_DATA, w.dy = dy->md;
	GX_TRY(gx_conv_pick(p, c, d, &w, &k));
	gx_place px, pw, py, final = {3, 0};
	GX_TRY(gx_prog_use(p, d->w, (gx_place){2, 0}, k.w, &pw));
	GX_TRY(use_dy(p, dy, k.y, &py));
	int layout = gx_conv_leaves(c, w.pass, k.x);
	c->dx_layout = layout < 0 ? GX_PLAIN : layout;
	gx_md dx = layout < 0 ? d->dx : k.x;
	GX_TRY(gx_prog_place(p, k.x, dx, final, &px));
	gx_bind binds[] = {{DNNL_ARG_DIFF_SRC, k.x, px}, {DNNL_ARG_WEIGHTS, k.w, pw}, {DNNL_ARG_DIFF_DST, k.y, py}};
	GX_TRY(gx_prog_step(p, k.pd, binds, 3));
	return gx_prog_deliver(p, k.x, px, dx, final);
}

static void run_depthwise_weights(const void *arg, void *const *at, int threads) {
	const gx_conv *c = arg;
	gx_planes a = {.dy = at[0], .x = at[1], .dw = at[2], .dbias = c->bias ? at[3] : 0, .scratch = at[4]};
	gx_depthwise_weights(c, &a, threads);
}

static void run_depthwise_data(const void *arg, void *const *at, int threads) {
	gx_planes a = {.dy = at[0], .w = at[1], .dx = at[2], .scratch = at[3]};
	gx_depthwise_data(arg, &a, threads);
}

static int add_depthwise_gradients(gx_prog *p, gx_conv *c, int want_x, int want_w, int threads) {
	gx_place room = gx_prog_room(p, threads * gx_depthwise_room(c));
	gx_place weights[] = {{0, 0}, {1, 0}, {4, 0}, {5, 0}, room}, data[] = {{0, 0}, {2, 0}, {3, 0}, room};
	c->dx_layout = GX_PLAIN;
	if (want_w) GX_TRY(gx_prog_own(p, run_depthwise_weights, "gomx:depthwise", c, sizeof *c, weights, 5));
	return want_x ? gx_prog_own(p, run_depthwise_data, "gomx:depthwise", c, sizeof *c, data, 4) : 0;
}

// pixelwise reports whether the window of a convolution is one pixel. Our gradients of larger windows take longer than
// oneDNN's with their changes of layout.
static int pixelwise(const gx_conv *c) { return c->kernel[0] == 1 && c->kernel[1] == 1; }

int gx_conv_backward(gx_prog **out, gx_conv *c, int want_x, int want_w, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_conv_descs d;
	if (gx_depthwise_fits(c) && pixelwise(c) && c->y_layout == GX_PLAIN) return add_depthwise_gradients(p, c, want_x, want_w, threads);
	gx_wish w = {.attr = gx_prog_attr(p)};
	GX_TRY(gx_conv_describe(p, c, &d));
	GX_TRY(gx_conv_hint(p, c, &d, &w.hint));
	moved dy = {d.y, {0, 0}};
	if (want_w) GX_TRY(add_weights(p, c, &d, w, &dy));
	if (want_x) GX_TRY(add_data(p, c, &d, w, &dy));
	return 0;
}
