//go:build nodnn

#include "gx.h"
#include "plainprog.h"
#include "product.h"

// Convolutions as products with a matrix of windows: row (c, kernel offset), column output pixel.
// Items are the groups of images; where there are at least as many as threads, each thread makes
// whole items, otherwise all work on one.

// windows returns the rows of the matrix of windows.
static int64_t windows(const gx_conv *c) {
	return c->ic / c->groups * c->kernel[0] * c->kernel[1] * c->kernel[2];
}

static int64_t pixels(const int64_t *extent) { return extent[0] * extent[1] * extent[2]; }

// direct reports whether the matrix of windows is the data itself.
static int direct(const gx_conv *c) {
	for (int i = 0; i < 3; i++)
		if (c->kernel[i] != 1 || c->stride[i] != 1 || c->pad[i] != 0 || c->in[i] != c->out[i])
			return 0;
	return 1;
}

// span is the range of output columns whose window has its pixel inside a row of the input.
static void span(const gx_conv *c, int64_t offset, int64_t *begin, int64_t *end) {
	int64_t s = c->stride[2], lead = c->pad[2] - offset;
	*begin = lead > 0 ? (lead + s - 1) / s : 0;
	*end = c->in[2] + lead > 0 ? (c->in[2] + lead - 1) / s + 1 : 0;
	*end = gx_min(*end, c->out[2]);
	*begin = gx_min(*begin, *end);
}

typedef struct {
	const gx_conv *c;
	float *image, *matrix; // of one item
	int back;              // the matrix is added to the image
} gather;

// row copies row i of the matrix of windows, or adds it to the image.
static void row(const gather *g, int64_t i) {
	const gx_conv *c = g->c;
	int64_t kw = i % c->kernel[2], kh = i / c->kernel[2] % c->kernel[1],
		kd = i / c->kernel[2] / c->kernel[1] % c->kernel[0];
	float *image = g->image + i / pixels(c->kernel) * pixels(c->in),
		*m = g->matrix + i * pixels(c->out);
	int64_t begin, end, s = c->stride[2], shift = kw * c->dilate[2] - c->pad[2];
	span(c, kw * c->dilate[2], &begin, &end);
	for (int64_t od = 0; od < c->out[0]; od++)
		for (int64_t oh = 0; oh < c->out[1]; oh++, m += c->out[2]) {
			int64_t d = od * c->stride[0] - c->pad[0] + kd * c->dilate[0],
				h = oh * c->stride[1] - c->pad[1] + kh * c->dilate[1];
			int inside = d >= 0 && d < c->in[0] && h >= 0 && h < c->in[1];
			float *x = inside ? image + (d * c->in[1] + h) * c->in[2] + shift : 0;
			if (g->back) {
				for (int64_t w = begin; inside && w < end; w++) x[w * s] += m[w];
				continue;
			}
			if (!inside) {
				memset(m, 0, (size_t)c->out[2] * sizeof *m);
				continue;
			}
			for (int64_t w = 0; w < begin; w++) m[w] = 0.0f;
			if (s == 1)
				memcpy(m + begin, x + begin, (size_t)(end - begin) * sizeof *m);
			else
				for (int64_t w = begin; w < end; w++) m[w] = x[w * s];
			for (int64_t w = end; w < c->out[2]; w++) m[w] = 0.0f;
		}
}

static void rows_range(const void *arg, int64_t begin, int64_t end) {
	for (int64_t i = begin; i < end; i++) row(arg, i);
}

// planes_range adds all rows that belong to channels of the image.
static void planes_range(const void *arg, int64_t begin, int64_t end) {
	const gather *g = arg;
	int64_t k = pixels(g->c->kernel);
	for (int64_t ch = begin; ch < end; ch++) {
		memset(g->image + ch * pixels(g->c->in), 0, (size_t)pixels(g->c->in) * sizeof(float));
		for (int64_t i = ch * k; i < (ch + 1) * k; i++) row(g, i);
	}
}

// spread makes the matrix of windows of an image and returns it: the image itself where it is that.
static const float *spread(const gx_conv *c, const float *image, float *matrix, int threads) {
	if (direct(c)) return image;
	gather g = {c, (float *)image, matrix, 0};
	gx_parallel(threads, windows(c), 1, rows_range, &g);
	return matrix;
}

// work is one run over items.
typedef struct {
	const gx_prog *p;
	const float *x, *w, *bias, *dy;
	float *y, *dx, *matrix;
	int64_t room; // of one matrix of windows
	int threads;  // that work on one item
} work;

static void product(float *c, const float *a, const float *b, const gx_gemm *g, int threads) {
	if (threads == 1)
		gx_sgemm_alone(c, a, b, g);
	else
		gx_sgemm(c, a, b, g, threads);
}

// finish adds the bias to n channels and replaces negative values by zero.
static void finish(const gx_conv *c, float *y, const float *bias, int64_t n) {
	int64_t p = pixels(c->out);
	if (!bias && !c->relu) return;
	for (int64_t o = 0; o < n; o++, y += p) {
		float b = bias ? bias[o] : 0.0f;
		for (int64_t i = 0; i < p; i++) {
			float v = y[i] + b;
			y[i] = c->relu && v < 0.0f ? 0.0f : v;
		}
	}
}

static void forward_item(const work *w, int64_t item, float *matrix) {
	const gx_conv *c = &w->p->conv;
	int64_t g = item % c->groups, ic = c->ic / c->groups, oc = c->oc / c->groups, k = windows(c),
		p = pixels(c->out);
	const float *m = spread(c, w->x + item * ic * pixels(c->in), matrix, w->threads);
	gx_gemm mul = {oc, p, k, k, p, p, 1.0f, c->add ? 1.0f : 0.0f, 0, 0};
	float *y = w->y + item * oc * p;
	product(y, w->w + g * oc * k, m, &mul, w->threads);
	finish(c, y, w->bias ? w->bias + g * oc : 0, oc);
}

static void data_item(const work *w, int64_t item, float *matrix) {
	const gx_conv *c = &w->p->conv;
	int64_t g = item % c->groups, ic = c->ic / c->groups, oc = c->oc / c->groups, k = windows(c),
		p = pixels(c->out);
	float *dx = w->dx + item * ic * pixels(c->in), *m = direct(c) ? dx : matrix;
	gx_gemm mul = {k, p, oc, k, p, p, 1.0f, 0.0f, 1, 0};
	product(m, w->w + g * oc * k, w->dy + item * oc * p, &mul, w->threads);
	if (m == dx) return;
	gather back = {c, dx, m, 1};
	gx_parallel(w->threads, ic, 1, planes_range, &back);
}

typedef struct {
	const work *w;
	void (*item)(const work *, int64_t, float *);
	int64_t items, parts;
} share;

static void share_range(const void *arg, int64_t begin, int64_t end) {
	const share *s = arg;
	for (int64_t t = begin; t < end; t++)
		for (int64_t i = s->items * t / s->parts; i < s->items * (t + 1) / s->parts; i++)
			s->item(s->w, i, s->w->matrix + t * s->w->room);
}

// side_by_side reports whether each thread makes whole items.
static int side_by_side(const gx_conv *c, int threads) {
	return threads > 1 && c->batch * c->groups >= threads;
}

static void each_item(work *w, void (*item)(const work *, int64_t, float *)) {
	const gx_conv *c = &w->p->conv;
	int64_t items = c->batch * c->groups;
	int together = side_by_side(c, w->p->threads);
	share s = {w, item, items, together ? w->p->threads : 1};
	w->threads = together ? 1 : w->p->threads;
	gx_parallel((int)s.parts, s.parts, 1, share_range, &s);
}

// add_weights adds the gradients of weights and bias of one item after the other.
static void add_weights(const work *w, float *dw, float *dbias, float *matrix) {
	const gx_conv *c = &w->p->conv;
	int64_t ic = c->ic / c->groups, oc = c->oc / c->groups, k = windows(c), p = pixels(c->out);
	for (int64_t item = 0; item < c->batch * c->groups; item++) {
		int64_t g = item % c->groups;
		const float *m = spread(c, w->x + item * ic * pixels(c->in), matrix, w->p->threads),
			*dy = w->dy + item * oc * p;
		gx_gemm mul = {oc, k, p, p, p, k, 1.0f, item < c->groups ? 0.0f : 1.0f, 0, 1};
		gx_sgemm(dw + g * oc * k, dy, m, &mul, w->p->threads);
		if (!c->bias) continue;
		for (int64_t o = 0; o < oc; o++, dy += p) {
			gx_v8 sums[2] = {};
			float sum = 0.0f;
			int64_t i = 0;
			for (; i + GX_LANES <= p; i += GX_LANES)
				sums[0] += GX_AT8(dy + i), sums[1] += GX_AT8(dy + i + GX_HALF);
			for (; i < p; i++) sum += dy[i];
			for (int l = 0; l < GX_LANES; l++) sum += sums[l / GX_HALF][l % GX_HALF];
			dbias[g * oc + o] = item < c->groups ? sum : dbias[g * oc + o] + sum;
		}
	}
}

// plain returns an operand in the plain layout, copied to scratch memory if it has another one.
static const float *plain(const gx_prog *p, const void *from, const gx_array *a, int layout,
	char **scratch) {
	if (layout == GX_PLAIN) return from;
	float *to = (float *)*scratch;
	*scratch += gx_lines(a->batch * a->channels * a->pixels * (int64_t)sizeof(float));
	gx_relayout(to, from, a, layout, GX_PLAIN, p->threads);
	return to;
}

static int run_forward(const gx_prog *p, void *const *ptrs, char *scratch) {
	const gx_conv *c = &p->conv;
	work w = {.p = p, .w = ptrs[1], .bias = c->bias ? ptrs[2] : 0, .y = ptrs[3],
		.room = windows(c) * pixels(c->out)};
	w.x = plain(p, ptrs[0], &p->x, c->x_layout, &scratch);
	w.matrix = (float *)scratch;
	if (c->add) {
		if (c->add_layout != GX_PLAIN && ptrs[4] == ptrs[3]) return GX_NOT_IMPLEMENTED;
		gx_relayout(w.y, ptrs[4], &p->y, c->add_layout, GX_PLAIN, p->threads);
	}
	each_item(&w, forward_item);
	return 0;
}

static int run_backward(const gx_prog *p, void *const *ptrs, char *scratch) {
	const gx_conv *c = &p->conv;
	work w = {.p = p, .w = ptrs[2], .dx = ptrs[3], .room = windows(c) * pixels(c->out)};
	w.dy = plain(p, ptrs[0], &p->y, c->y_layout, &scratch);
	if (p->want_w) w.x = plain(p, ptrs[1], &p->x, c->x_layout, &scratch);
	w.matrix = (float *)scratch;
	if (p->want_w) add_weights(&w, ptrs[4], ptrs[5], w.matrix);
	if (p->want_x) each_item(&w, data_item);
	return 0;
}

static int run_pack(const gx_prog *p, void *const *ptrs, char *scratch) {
	if (ptrs[0] != ptrs[1]) gx_copy(ptrs[1], ptrs[0], (size_t)p->packed);
	return 0;
}

// with_axes returns a convolution whose missing axes, in front, have extent 1.
static gx_conv with_axes(const gx_conv *c) {
	gx_conv r = *c;
	int lead = 3 - (int)c->axes;
	for (int i = 0; i < 3; i++) {
		int from = i - lead;
		r.in[i] = from < 0 ? 1 : c->in[from], r.out[i] = from < 0 ? 1 : c->out[from];
		r.kernel[i] = from < 0 ? 1 : c->kernel[from], r.stride[i] = from < 0 ? 1 : c->stride[from];
		r.dilate[i] = from < 0 ? 1 : c->dilate[from], r.pad[i] = from < 0 ? 0 : c->pad[from];
	}
	r.axes = 3;
	return r;
}

// prepare makes a program for a convolution, with room for matrices of windows.
static gx_prog *prepare(gx_prog_fn run, const gx_conv *c, int threads) {
	gx_prog *p = gx_prog_new(run, threads);
	if (!p) return 0;
	p->conv = with_axes(c);
	p->x = (gx_array){c->batch, c->ic, pixels(p->conv.in)};
	p->y = (gx_array){c->batch, c->oc, pixels(p->conv.out)};
	int64_t room = direct(&p->conv) ? 0 : windows(&p->conv) * pixels(p->conv.out);
	gx_prog_take(p, room * (side_by_side(c, threads) ? threads : 1));
	return p;
}

static int64_t size(const gx_array *a) { return a->batch * a->channels * a->pixels; }

int gx_conv_forward(gx_prog **out, gx_conv *c, int threads) {
	*out = 0;
	if (c->winograd || c->type != GX_FLOAT) return GX_NOT_IMPLEMENTED;
	gx_prog *p = *out = prepare(run_forward, c, threads);
	if (!p) return GX_NO_MEMORY;
	c->y_layout = GX_PLAIN;
	if (c->x_layout != GX_PLAIN) gx_prog_take(p, size(&p->x));
	if (c->packed) p->packed = c->oc * windows(&p->conv) * (int64_t)sizeof(float);
	return 0;
}

int gx_conv_pack(gx_prog **out, const gx_conv *c, const gx_prog *conv, int threads) {
	gx_prog *p = *out = gx_prog_new(run_pack, threads);
	if (!p) return GX_NO_MEMORY;
	p->packed = conv->packed;
	return 0;
}

int gx_conv_backward(gx_prog **out, gx_conv *c, int want_x, int want_w, int threads) {
	*out = 0;
	if (c->winograd || c->type != GX_FLOAT) return GX_NOT_IMPLEMENTED;
	gx_prog *p = *out = prepare(run_backward, c, threads);
	if (!p) return GX_NO_MEMORY;
	p->want_x = want_x, p->want_w = want_w;
	c->dx_layout = GX_PLAIN;
	if (c->y_layout != GX_PLAIN) gx_prog_take(p, size(&p->y));
	if (want_w && c->x_layout != GX_PLAIN) gx_prog_take(p, size(&p->x));
	return 0;
}
