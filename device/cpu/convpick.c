//go:build !nodnn

#include "convpick.h"

#include "gx.h"

static const int weight_tags[] = {dnnl_x, dnnl_oiw, dnnl_oihw, dnnl_oidhw};
static const int group_tags[] = {dnnl_x, dnnl_goiw, dnnl_goihw, dnnl_goidhw};

int gx_conv_describe(gx_prog *p, const gx_conv *c, gx_conv_descs *d) {
	int n = (int)c->axes;
	int64_t x[5] = {c->batch, c->ic}, y[5] = {c->batch, c->oc}, w[6], *k = w;
	if (c->groups > 1) *k++ = c->groups;
	*k++ = c->oc / c->groups;
	*k++ = c->ic / c->groups;
	d->pixels = d->taps = 1;
	for (int i = 0; i < n; i++) {
		x[2 + i] = c->in[i];
		y[2 + i] = c->out[i];
		*k++ = c->kernel[i];
		d->stride[i] = c->stride[i];
		d->dilate[i] = c->dilate[i] - 1;
		d->pad[i] = c->pad[i];
		d->pad_end[i] = (c->out[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilate[i] + 1 -
			c->in[i] - c->pad[i];
		d->pixels *= c->out[i];
		d->taps *= c->kernel[i];
	}
	int wn = (int)(k - w);
	GX_TRY(gx_prog_md(p, &d->x, c->type, n + 2, x, gx_layout_tag(c->x_layout, n)));
	GX_TRY(gx_prog_md(p, &d->y, c->type, n + 2, y, gx_layout_tag(c->y_layout, n)));
	GX_TRY(gx_prog_md(p, &d->dx, c->type, n + 2, x, gx_layout_tag(GX_PLAIN, n)));
	GX_TRY(gx_prog_md(p, &d->sum, c->type, n + 2, y, gx_layout_tag(c->add_layout, n)));
	GX_TRY(gx_prog_md(p, &d->w, c->type, wn, w, c->groups > 1 ? group_tags[n] : weight_tags[n]));
	GX_TRY(gx_prog_md(p, &d->b, c->type, 1, &c->oc, dnnl_x));
	GX_TRY(gx_prog_md(p, &d->any_x, c->type, n + 2, x, dnnl_format_tag_any));
	GX_TRY(gx_prog_md(p, &d->any_y, c->type, n + 2, y, dnnl_format_tag_any));
	return gx_prog_md(p, &d->any_w, c->type, wn, w, dnnl_format_tag_any);
}

static dnnl_alg_kind_t algorithm(int winograd) {
	return winograd ? dnnl_convolution_winograd : dnnl_convolution_direct;
}

static int forward_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const gx_conv_descs *d, gx_md x,
	gx_md y, dnnl_primitive_attr_t attr) {
	dnnl_alg_kind_t alg = algorithm(c->winograd);
	dnnl_prop_kind_t prop = c->train ? dnnl_forward_training : dnnl_forward_inference;
	gx_md b = c->bias ? d->b : 0;
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_forward_primitive_desc_create(pd, gx_engine(), prop, alg, x,
		d->any_w, b, y, d->stride, d->dilate, d->pad, d->pad_end, attr);
#else
	dnnl_convolution_desc_t cd;
	GX_TRY(dnnl_dilated_convolution_forward_desc_init(&cd, prop, alg, x, d->any_w, b, y,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, attr, gx_engine(), 0);
#endif
}

static int data_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const gx_conv_descs *d, gx_md x,
	gx_md y, const gx_wish *w) {
	dnnl_alg_kind_t alg = algorithm(c->winograd);
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_backward_data_primitive_desc_create(pd, gx_engine(), alg, x,
		d->any_w, y, d->stride, d->dilate, d->pad, d->pad_end, w->hint, w->attr);
#else
	dnnl_convolution_desc_t cd;
	GX_TRY(dnnl_dilated_convolution_backward_data_desc_init(&cd, alg, x, d->any_w, y,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, w->attr, gx_engine(), w->hint);
#endif
}

static int weights_pd(dnnl_primitive_desc_t *pd, const gx_conv *c, const gx_conv_descs *d, gx_md x,
	gx_md y, const gx_wish *w) {
	dnnl_alg_kind_t alg = algorithm(c->winograd && !c->direct_dw);
	gx_md b = c->bias ? d->b : 0;
#if DNNL_VERSION_MAJOR >= 3
	return dnnl_convolution_backward_weights_primitive_desc_create(pd, gx_engine(), alg, x,
		d->any_w, b, y, d->stride, d->dilate, d->pad, d->pad_end, w->hint, w->attr);
#else
	dnnl_convolution_desc_t cd;
	GX_TRY(dnnl_dilated_convolution_backward_weights_desc_init(&cd, alg, x, d->any_w, b, y,
		d->stride, d->dilate, d->pad, d->pad_end));
	return dnnl_primitive_desc_create(pd, &cd, w->attr, gx_engine(), w->hint);
#endif
}

int gx_conv_hint(gx_prog *p, const gx_conv *c, const gx_conv_descs *d,
	dnnl_primitive_desc_t *hint) {
	GX_TRY(forward_pd(hint, c, d, d->any_x, d->any_y, gx_prog_attr(p)));
	return gx_prog_keep(p, *hint);
}

// make asks for a primitive with data x and output y.
static int make(gx_pick *k, const gx_conv *c, const gx_conv_descs *d, gx_md x, gx_md y,
	const gx_wish *w) {
	switch (w->pass) {
	case GX_PASS_FORWARD:
		GX_TRY(forward_pd(&k->pd, c, d, x, y, w->attr));
		break;
	case GX_PASS_DATA:
		GX_TRY(data_pd(&k->pd, c, d, x, y, w));
		break;
	default:
		GX_TRY(weights_pd(&k->pd, c, d, x, y, w));
	}
	k->x = gx_query(k->pd, w->pass == GX_PASS_DATA ? dnnl_query_diff_src_md : dnnl_query_src_md);
	k->w = gx_query(k->pd,
		w->pass == GX_PASS_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
	k->y = gx_query(k->pd, w->pass == GX_PASS_FORWARD ? dnnl_query_dst_md : dnnl_query_diff_dst_md);
	return 0;
}

int gx_conv_leaves(const gx_conv *c, int pass, gx_md made) {
	int n = (int)c->axes, data = pass == GX_PASS_DATA;
	int64_t dims[5] = {c->batch, data ? c->ic : c->oc}, pixels = 1;
	for (int i = 0; i < n; i++) {
		dims[2 + i] = data ? c->in[i] : c->out[i];
		pixels *= dims[2 + i];
	}
	int layout = gx_layout_of(made, n + 2, dims);
	if (layout == GX_PLAIN) return GX_PLAIN;
	if (data) return c->choose_dx && layout != GX_LAST ? layout : -1;
	if (layout >= 0 && pixels == 1) return GX_PLAIN; // all layouts without padding are one
	// Other operators of training know plain arrays and blocks only
	if (c->train && layout == GX_LAST) return -1;
	return c->choose_y ? layout : -1;
}

// Estimates of time in nanoseconds, of one thread. They need only be good enough to tell the kernels
// that come into question apart: these differ by their layouts, and by the class of their
// implementation. Naive ones are the last resort.
enum { CALL_NS = 300, CACHED = 1 << 20 }; // CACHED: numbers that stay in a cache
static const double touch_ns = 0.05, group_ns = 5.0, naive_ns = 1e6;

// speed is the part of the estimates that depends on the width of vectors.
typedef struct {
	int64_t lanes;        // floats of a vector, and channels of the blocks that oneDNN prefers
	double mac_ns;        // of a multiplication with its addition
	double product_ns;    // of a number of the operands of products of matrices
	double window_ns[3];  // of a number of a matrix of windows, by pass
} speed;

static const speed *processor(void) {
	static const speed wide = {16, 0.01, 0.05, {0.35, 0.55, 1.0}},
		narrow = {8, 0.0225, 0.3, {0.7, 1.1, 2.0}};
	return gx_is_v4() ? &wide : &narrow;
}

static double floats(gx_md m) {
	return (double)dnnl_memory_desc_get_size(m) / (double)sizeof(float);
}

static int layout_of(gx_md m, const int64_t *dims, int64_t axes) {
	return gx_layout_of(m, (int)axes + 2, dims);
}

// moved is the time of bringing data or output, which has a number of channels, from one layout
// into another. Whole blocks move fast, and every number of channels does between blocks and
// channels last. Arrays that do not fit into the caches move at half the speed.
static double moved(const gx_conv *c, const int64_t *extent, int64_t channels, gx_md from,
	gx_md to) {
	if (dnnl_memory_desc_equal(from, to)) return 0.0;
	int64_t dims[5] = {c->batch, channels};
	for (int64_t i = 0; i < c->axes; i++) dims[2 + i] = extent[i];
	int a = layout_of(from, dims, c->axes), b = layout_of(to, dims, c->axes);
	int fast = 1;
	if (a == GX_PLAIN || b == GX_PLAIN)
		fast = channels % processor()->lanes == 0 && a != GX_LAST && b != GX_LAST;
	double n = fmax(floats(from), floats(to));
	return CALL_NS + (fast ? 0.1 : 0.3) * (n > CACHED ? 2.0 * n : n);
}

double gx_conv_flatten_ns(const gx_conv *c, const gx_conv_descs *d) {
	return moved(c, c->in, c->ic, d->x, d->dx);
}

static double whole_vectors(int64_t n) {
	int64_t lanes = processor()->lanes;
	return (double)((n + lanes - 1) / lanes * lanes) / (double)n;
}

// products is the time of a primitive that makes a matrix of windows of every image and group, and
// multiplies it.
static double products(const gx_conv *c, const gx_conv_descs *d, double macs, int pass) {
	const speed *s = processor();
	double columns = (double)(c->batch * d->pixels), ns = (double)(c->batch * c->groups) * CALL_NS;
	ns += macs * s->mac_ns * (c->groups > 1 || pass == GX_PASS_WEIGHTS ? 2.0 : 1.0);
	int moves = d->taps > 1;
	for (int64_t i = 0; i < c->axes; i++) moves = moves || c->stride[i] > 1;
	return moves ? ns + s->window_ns[pass] * columns * (double)(c->ic * d->taps) : ns;
}

// work is the time of the primitive itself. Kernels for blocks compute their padding, those for
// channels last fill up vectors of the channels that they write, and both do one group after the
// other unless the groups are single channels.
static double work(const gx_conv *c, const gx_conv_descs *d, const gx_pick *k, int pass) {
	int64_t ic = c->ic / c->groups, oc = c->oc / c->groups;
	double columns = (double)(c->batch * d->pixels);
	double macs = columns * (double)(ic * c->oc * d->taps);
	if (gx_naive(k->pd)) return naive_ns * macs;
	const char *impl = gx_impl(k->pd);
	const speed *s = processor();
	double numbers = floats(k->x) + floats(k->y), touched = touch_ns * numbers;
	if (strstr(impl, "gemm") && !strstr(impl, "brg"))
		return s->product_ns * numbers + products(c, d, macs, pass);
	double px = floats(k->x) / floats(d->dx), py = floats(k->y) / floats(d->y), full = px * py;
	if (c->groups > 1 && ic == 1 && oc == 1) return touched + s->mac_ns * macs * full;
	full *= pass == GX_PASS_DATA ? whole_vectors(ic) / px : whole_vectors(oc) / py;
	// Groups of whole blocks are parts of one kernel
	int blocks = ic % s->lanes == 0 && oc % s->lanes == 0;
	double apart = c->groups > 1 && !blocks ? group_ns * columns * (double)c->groups : 0.0;
	return touched + s->mac_ns * macs * full + apart;
}

// total is the time of a primitive with the changes of layout around it.
static double total(const gx_conv *c, const gx_conv_descs *d, const gx_pick *k, const gx_wish *w) {
	double ns = CALL_NS + work(c, d, k, w->pass);
	if (!c->packed && !dnnl_memory_desc_equal(d->w, k->w)) ns += CALL_NS + 0.3 * floats(k->w);
	if (w->pass != GX_PASS_DATA) ns += moved(c, c->in, c->ic, d->x, k->x);
	if (w->pass == GX_PASS_FORWARD) {
		if (gx_conv_leaves(c, w->pass, k->y) < 0) ns += moved(c, c->out, c->oc, k->y, d->y);
		return ns;
	}
	if (!w->dy || !dnnl_memory_desc_equal(w->dy, k->y)) ns += moved(c, c->out, c->oc, d->y, k->y);
	if (w->pass == GX_PASS_DATA && gx_conv_leaves(c, w->pass, k->x) < 0)
		ns += moved(c, c->in, c->ic, k->x, d->dx);
	return ns;
}

// Channels that fill whole vectors run fastest blocked. Others would be padded with zeros to whole
// vectors; channels last need no padding. With very few channels blocked kernels read the
// plain input directly. Depthwise convolutions take either; arrays that are channels last already
// stay so.
static int suits_last(const gx_conv *c) {
	int64_t ic = c->ic / c->groups, oc = c->oc / c->groups;
	if (c->groups > 1) return c->x_layout == GX_LAST && ic == 1 && oc == 1;
	int64_t lanes = processor()->lanes;
	return ic >= 8 && (ic % lanes != 0 || oc % lanes != 0);
}

// first_tag is the layout that is asked for first, for arrays with a number of channels that come
// in layout now. Gradients keep to the layouts of the forward pass.
static int first_tag(const gx_conv *c, int64_t channels, int now) {
	int n = (int)c->axes;
	if (c->train && now != GX_PLAIN) return gx_layout_tag(now, n);
	if (c->winograd) return dnnl_format_tag_any;
	// Which layout is fast for narrow numbers depends on the processor: the library is asked
	if (c->type == GX_BFLOAT && !c->train) return dnnl_format_tag_any;
	if (c->blocked && channels % 16 == 0) return gx_layout_tag(GX_BLOCK16, n);
	return suits_last(c) ? gx_layout_tag(GX_LAST, n) : (int)dnnl_format_tag_any;
}

enum { OFFERS = 5 };

// offers lists the layouts of data and output that are tried: first the best pair where oneDNN has
// a kernel for it, then pairs for which it has kernels in general.
static void offers(const gx_conv *c, int tags[OFFERS][2]) {
	int n = (int)c->axes, any = dnnl_format_tag_any;
	int last = gx_layout_tag(GX_LAST, n), plain = gx_layout_tag(GX_PLAIN, n);
	int x = first_tag(c, c->ic, c->x_layout), y = first_tag(c, c->oc, c->y_layout);
	const int list[OFFERS][2] = {{x, y}, {last, last}, {any, any}, {plain, any}, {plain, plain}};
	memcpy(tags, list, sizeof list);
}

// settled reports whether the first offer is taken wherever oneDNN has a kernel for it, because its
// layouts suit the layers around: dense convolutions of whole blocks.
static int settled(const gx_conv *c) {
	int64_t lanes = processor()->lanes;
	return c->winograd || (c->groups == 1 && c->ic % lanes == 0 && c->oc % lanes == 0);
}

static int in_layout(gx_prog *p, const gx_conv *c, gx_md like, int tag, int64_t channels,
	const int64_t *space, gx_md *got) {
	*got = like;
	if (tag == dnnl_format_tag_any) return 0;
	int64_t dims[5] = {c->batch, channels};
	for (int64_t i = 0; i < c->axes; i++) dims[2 + i] = space[i];
	return gx_prog_md(p, got, c->type, (int)c->axes + 2, dims, tag);
}

int gx_conv_pick(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, const gx_wish *w,
	gx_pick *got) {
	int tags[OFFERS][2], err = dnnl_unimplemented;
	got->pd = 0;
	offers(c, tags);
	for (int i = 0; i < OFFERS; i++) {
		gx_pick k;
		gx_md x, y;
		GX_TRY(in_layout(p, c, d->any_x, tags[i][0], c->ic, c->in, &x));
		GX_TRY(in_layout(p, c, d->any_y, tags[i][1], c->oc, c->out, &y));
		int failed = make(&k, c, d, x, y, w);
		if (failed) {
			if (i == 0) err = failed;
			continue;
		}
		// Naive kernels are slower than converting everything to float32
		if (c->type == GX_BFLOAT && gx_naive(k.pd)) {
			dnnl_primitive_desc_destroy(k.pd);
			continue;
		}
		double ns = total(c, d, &k, w);
		if (got->pd && ns >= got->ns) {
			dnnl_primitive_desc_destroy(k.pd);
			continue;
		}
		if (got->pd) dnnl_primitive_desc_destroy(got->pd);
		*got = k, got->ns = ns;
		if (i == 0 && settled(c) && !gx_naive(k.pd)) break;
	}
	return got->pd ? gx_prog_keep(p, got->pd) : err;
}
