//go:build !nodnn

#include "convpick.h"
#include "directconv.h"

// add_forward appends the convolution: y is where it writes.
static int add_forward(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, const gx_pick *k,
	gx_place py) {
	gx_place px, pw = {1, 0};
	GX_TRY(gx_prog_use(p, d->x, (gx_place){0, 0}, k->x, &px));
	if (c->packed)
		gx_prog_set_packed(p, k->w);
	else
		GX_TRY(gx_prog_use(p, d->w, pw, k->w, &pw));
	if (c->add) GX_TRY(gx_prog_copy(p, d->sum, (gx_place){4, 0}, k->y, py));
	gx_bind binds[] = {{DNNL_ARG_SRC, k->x, px}, {DNNL_ARG_WEIGHTS, k->w, pw},
		{DNNL_ARG_DST, k->y, py}, {DNNL_ARG_BIAS, d->b, {2, 0}}};
	return gx_prog_step(p, k->pd, binds, c->bias ? 4 : 3);
}

// ours reports whether our own kernel takes a pass: where it is faster on plain arrays than
// oneDNN's choice is with its changes of layout, and no other layer waits for blocks.
static int ours(const gx_conv *c, int pass, const gx_pick *k) {
	int data = pass == GX_PASS_DATA, chooses = data ? c->choose_dx
		: pass == GX_PASS_FORWARD && c->choose_y;
	if (c->type != GX_FLOAT) return 0;
	if (chooses && c->blocked && (data ? c->ic : c->oc) % 16 == 0) return 0;
	return gx_direct_ns(c, pass) < k->ns;
}

// flattened reports whether our own kernel takes data in another layout after a copy to the plain
// one: where the output would be plain anyway.
static int flattened(const gx_conv *c, const gx_conv_descs *d, const gx_pick *k) {
	if (c->x_layout == GX_PLAIN || gx_conv_leaves(c, GX_PASS_FORWARD, k->y) > GX_PLAIN) return 0;
	gx_pick less = *k;
	gx_conv plain = *c;
	less.ns -= gx_conv_flatten_ns(c, d);
	plain.x_layout = GX_PLAIN;
	return ours(&plain, GX_PASS_FORWARD, &less);
}

int gx_conv_forward(gx_prog **out, gx_conv *c, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_conv_descs d;
	gx_wish w = {.pass = GX_PASS_FORWARD};
	gx_pick k;
	GX_TRY(gx_conv_describe(p, c, &d));
	GX_TRY(gx_prog_post(p, c->add, c->relu, &w.attr));
	GX_TRY(gx_conv_pick(p, c, &d, &w, &k));
	if (ours(c, w.pass, &k) || flattened(c, &d, &k)) {
		gx_conv plain = *c;
		gx_place px;
		plain.x_layout = c->y_layout = GX_PLAIN;
		if (c->packed) gx_prog_set_packed(p, d.w);
		GX_TRY(gx_prog_use(p, d.x, (gx_place){0, 0}, d.dx, &px));
		return gx_direct_add(p, &plain, w.pass, px, threads);
	}
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

static int add_weights(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, gx_wish w, moved *dy,
	int threads) {
	gx_pick k;
	w.pass = GX_PASS_WEIGHTS;
	GX_TRY(gx_conv_pick(p, c, d, &w, &k));
	gx_place px = {1, 0}, pw, py, final = {4, 0};
	if (ours(c, w.pass, &k)) return gx_direct_add(p, c, w.pass, px, threads);
	GX_TRY(gx_prog_use(p, d->x, px, k.x, &px));
	GX_TRY(use_dy(p, dy, k.y, &py));
	GX_TRY(gx_prog_place(p, k.w, d->w, final, &pw));
	gx_bind binds[] = {{DNNL_ARG_SRC, k.x, px}, {DNNL_ARG_DIFF_DST, k.y, py},
		{DNNL_ARG_DIFF_WEIGHTS, k.w, pw}, {DNNL_ARG_DIFF_BIAS, d->b, {5, 0}}};
	GX_TRY(gx_prog_step(p, k.pd, binds, c->bias ? 4 : 3));
	return gx_prog_deliver(p, k.w, pw, d->w, final);
}

static int add_data(gx_prog *p, gx_conv *c, const gx_conv_descs *d, gx_wish w, moved *dy,
	int threads) {
	gx_pick k;
	w.pass = GX_PASS_DATA, w.dy = dy->md;
	GX_TRY(gx_conv_pick(p, c, d, &w, &k));
	if (ours(c, w.pass, &k)) {
		c->dx_layout = GX_PLAIN;
		return gx_direct_add(p, c, w.pass, (gx_place){1, 0}, threads);
	}
	gx_place px, pw, py, final = {3, 0};
	GX_TRY(gx_prog_use(p, d->w, (gx_place){2, 0}, k.w, &pw));
	GX_TRY(use_dy(p, dy, k.y, &py));
	int layout = gx_conv_leaves(c, w.pass, k.x);
	c->dx_layout = layout < 0 ? GX_PLAIN : layout;
	gx_md dx = layout < 0 ? d->dx : k.x;
	GX_TRY(gx_prog_place(p, k.x, dx, final, &px));
	gx_bind binds[] = {{DNNL_ARG_DIFF_SRC, k.x, px}, {DNNL_ARG_WEIGHTS, k.w, pw},
		{DNNL_ARG_DIFF_DST, k.y, py}};
	GX_TRY(gx_prog_step(p, k.pd, binds, 3));
	return gx_prog_deliver(p, k.x, px, dx, final);
}

int gx_conv_backward(gx_prog **out, gx_conv *c, int want_x, int want_w, int threads) {
	gx_prog *p = *out = gx_prog_new(threads);
	if (!p) return dnnl_out_of_memory;
	gx_conv_descs d;
	gx_wish w = {.attr = gx_prog_attr(p)};
	GX_TRY(gx_conv_describe(p, c, &d));
	GX_TRY(gx_conv_hint(p, c, &d, &w.hint));
	moved dy = {d.y, {0, 0}};
	if (want_w) GX_TRY(add_weights(p, c, &d, w, &dy, threads));
	if (want_x) GX_TRY(add_data(p, c, &d, w, &dy, threads));
	return 0;
}
