//go:build !nodnn

#include "depthwise.h"

#include "gx.h"

// Every plane is copied to a sheet, which has zeros around it and its columns sorted by their remainder of division by the
// stride: so all numbers that one tap of the window meets in a row lie one behind the other.

enum { MOST = 9, SIDE = 3, LARGEST = 32 << 10 }; // taps of a window, its side, numbers of a sheet

#define INLINE static inline __attribute__((always_inline))

typedef struct {
	float *at;
	int64_t rows, parts, pitch; // parts of a row by remainder, pitch floats each
	int64_t top, left;          // where the plane begins
} sheet;

INLINE float *line(const sheet *s, int64_t row, int64_t part) { return s->at + (row * s->parts + part) * s->pitch; }

static int64_t whole(int64_t n) { return (n + GX_LANES - 1) / GX_LANES * GX_LANES; }

static int64_t numbers(const sheet *s) { return s->rows * s->parts * s->pitch; }

// data_sheet is for planes of x: it holds all windows. Vectors are read up to their end and SIDE - 1 numbers on.
static sheet data_sheet(const gx_conv *c, float *at) {
	int64_t rows = gx_max((c->out[0] - 1) * c->stride[0] + c->kernel[0], c->pad[0] + c->in[0]);
	int64_t cols = gx_max((c->out[1] - 1) * c->stride[1] + c->kernel[1], c->pad[1] + c->in[1]), s = c->stride[1];
	return (sheet){at, rows, s, whole((cols + s - 1) / s) + GX_LANES, c->pad[0], c->pad[1]};
}

// gradient_sheet is for planes of dy: it holds all that numbers of x, and of their padding in front, have taken part in.
static sheet gradient_sheet(const gx_conv *c, float *at) {
	int64_t lead[2], extent[2];
	for (int i = 0; i < 2; i++) {
		lead[i] = (c->kernel[i] - 1) / c->stride[i];
		extent[i] = lead[i] + gx_max(c->out[i], (c->pad[i] + c->in[i] - 1) / c->stride[i] + 1);
	}
	return (sheet){at, extent[0], 1, whole(extent[1]) + GX_LANES, lead[0], lead[1]};
}

int gx_depthwise_fits(const gx_conv *c) {
	if (c->axes != 2 || c->groups < 2 || c->ic != c->groups || c->winograd || c->add || c->x_layout != GX_PLAIN) return 0;
	for (int i = 0; i < 2; i++)
		if (c->kernel[i] > SIDE || c->stride[i] > 2 || c->dilate[i] != 1 || c->in[i] < 1 || c->out[i] < 1) return 0;
	return gx_depthwise_room(c) <= LARGEST;
}

int64_t gx_depthwise_room(const gx_conv *c) {
	sheet x = data_sheet(c, 0), dy = gradient_sheet(c, 0);
	return gx_max(numbers(&x), numbers(&dy)) + 2 * (whole(c->in[1]) + GX_LANES);
}

// fill copies a plane to its place; what is around it stays zero.
GX_CLONES static void fill(const sheet *s, const float *plane, int64_t rows, int64_t cols) {
	for (int64_t r = 0; r < rows; r++, plane += cols) {
		if (s->parts == 1) {
			memcpy(line(s, s->top + r, 0) + s->left, plane, (size_t)cols * sizeof *plane);
			continue;
		}
		float *even = line(s, s->top + r, s->left % 2) + s->left / 2, *odd = line(s, s->top + r, (s->left + 1) % 2) + (s->left + 1) / 2;
		for (int64_t i = 0; i < cols / 2; i++) even[i] = plane[2 * i], odd[i] = plane[2 * i + 1];
		if (cols % 2) even[cols / 2] = plane[cols - 1];
	}
}

// taps are numbers that are multiplied by factors: those from at on.
typedef struct {
	const float *at[MOST];
	float by[MOST];
	int n;
} taps;

typedef struct {
	float first; // the sums begin with it
	int add, cut; // to what is there already; off what is negative
} finish;

// sums writes len sums of n products; n is a constant at every call.
INLINE void sums(float *d, int64_t len, const taps *t, finish f, int n) {
	gx_v16 by[MOST] = {};
#pragma GCC unroll 9
	for (int k = 0; k < n; k++) by[k] = t->by[k] - (gx_v16){};
	for (int64_t i = 0; i < len; i += GX_LANES) {
		gx_v16 v = f.first - (gx_v16){};
#pragma GCC unroll 9
		for (int k = 0; k < n; k++) v += by[k] * GX_AT(t->at[k] + i);
		if (f.cut) v = (gx_v16)((gx_i16)v & ~(gx_i16)(v < 0.0f));
		if (i + GX_LANES <= len) {
			if (f.add) v += GX_AT(d + i);
			GX_AT(d + i) = v;
			continue;
		}
		for (int64_t l = 0; l < len - i; l++) d[i + l] = f.add ? d[i + l] + v[l] : v[l];
	}
}

// dots adds products of len numbers of dy with every tap to sums, which have lanes of their own. What lies behind the last
// numbers does not count, whatever it is.
INLINE void dots(gx_v16 *sum, const float *dy, int64_t len, const taps *t, int n) {
	gx_v16 acc[MOST] = {};
	int64_t i = 0;
#pragma GCC unroll 9
	for (int k = 0; k < n; k++) acc[k] = sum[k];
	for (; i + GX_LANES <= len; i += GX_LANES) {
#pragma GCC unroll 9
		for (int k = 0; k < n; k++) acc[k] += GX_AT(dy + i) * GX_AT(t->at[k] + i);
	}
	if (i < len) {
		gx_v16 last = {};
		gx_i16 some = {};
		memcpy(&last, dy + i, (size_t)(len - i) * sizeof *dy);
		for (int64_t l = 0; l < len - i; l++) some[l] = -1;
#pragma GCC unroll 9
		for (int k = 0; k < n; k++) acc[k] += last * (gx_v16)((gx_i16)GX_AT(t->at[k] + i) & some);
	}
#pragma GCC unroll 9
	for (int k = 0; k < n; k++) sum[k] = acc[k];
}

// Windows have one to three taps along each axis.
#define EACH_COUNT(CASE) \
	CASE(1) CASE(2) CASE(3) CASE(4) CASE(6) CASE(9)

INLINE void any_sums(float *d, int64_t len, const taps *t, finish f) {
#define CASE(k) \
	case k: sums(d, len, t, f, k); return;
	switch (t->n) { EACH_COUNT(CASE) }
#undef CASE
	for (int64_t i = 0; i < len && !f.add; i++) d[i] = f.first; // no window meets these
}

INLINE void any_dots(gx_v16 *sum, const float *dy, int64_t len, const taps *t) {
#define CASE(k) \
	case k: dots(sum, dy, len, t, k); return;
	switch (t->n) { EACH_COUNT(CASE) }
#undef CASE
}

// window sets the taps of the first window of an output row.
INLINE void window(taps *t, const gx_conv *c, const sheet *x, int64_t row) {
	t->n = 0;
	for (int64_t h = 0; h < c->kernel[0]; h++)
		for (int64_t w = 0; w < c->kernel[1]; w++)
			t->at[t->n++] = line(x, row * c->stride[0] + h, w % c->stride[1]) + w / c->stride[1];
}

GX_CLONES static void forward_plane(const gx_conv *c, const sheet *x, float *y, const float *w, finish f) {
	taps t = {};
	memcpy(t.by, w, (size_t)(c->kernel[0] * c->kernel[1]) * sizeof *w);
	for (int64_t r = 0; r < c->out[0]; r++, y += c->out[1]) {
		window(&t, c, x, r);
		any_sums(y, c->out[1], &t, f);
	}
}

// met sets the taps through which row of x, padding included, and its columns from left on, a stride apart, come into dy.
INLINE void met(taps *t, const gx_conv *c, const sheet *dy, const float *w, int64_t row, int64_t left) {
	int64_t sh = c->stride[0], sw = c->stride[1], part = left % sw;
	t->n = 0;
	for (int64_t h = row % sh; h < c->kernel[0]; h += sh)
		for (int64_t k = part; k < c->kernel[1]; k += sw) {
			t->at[t->n] = line(dy, dy->top + (row - h) / sh, 0) + dy->left + (left - k) / sw;
			t->by[t->n++] = w[h * c->kernel[1] + k];
		}
}

// data_plane makes the gradient of a plane, or adds to it. room has two rows.
GX_CLONES static void data_plane(const gx_conv *c, const sheet *dy, float *dx, const float *w, int add, float *room) {
	int64_t n = c->in[1];
	taps t = {};
	for (int64_t r = 0; r < c->in[0]; r++, dx += n) {
		met(&t, c, dy, w, r + c->pad[0], c->pad[1]);
		if (c->stride[1] == 1) {
			any_sums(dx, n, &t, (finish){0.0f, add, 0});
			continue;
		}
		float *even = room, *odd = room + whole(n) + GX_LANES;
		any_sums(even, (n + 1) / 2, &t, (finish){});
		met(&t, c, dy, w, r + c->pad[0], c->pad[1] + 1);
		any_sums(odd, n / 2, &t, (finish){});
		if (!add) {
			for (int64_t i = 0; i < n / 2; i++) dx[2 * i] = even[i], dx[2 * i + 1] = odd[i];
			if (n % 2) dx[n - 1] = even[n / 2];
			continue;
		}
		for (int64_t i = 0; i < n / 2; i++) dx[2 * i] += even[i], dx[2 * i + 1] += odd[i];
		if (n % 2) dx[n - 1] += even[n / 2];
	}
}

// weights_plane adds one image's part to sums for every tap and, behind them, of dy.
GX_CLONES static void weights_plane(const gx_conv *c, const sheet *x, const float *dy, gx_v16 *sum, int bias) {
	taps t = {};
	for (int64_t r = 0; r < c->out[0]; r++) {
		window(&t, c, x, r);
		any_dots(sum, dy + r * c->out[1], c->out[1], &t);
	}
	if (!bias) return;
	int64_t n = c->out[0] * c->out[1], i = 0;
	for (; i + GX_LANES <= n; i += GX_LANES) sum[MOST] += GX_AT(dy + i);
	for (; i < n; i++) sum[MOST][i % GX_LANES] += dy[i];
}

// work is divided into one range of items for every thread, which has a sheet of its own.
typedef struct {
	const gx_conv *c;
	const gx_planes *a;
	int64_t items, ranges;
	int64_t in, out, taps, multiple; // numbers of a plane of x, of y, of a window; outputs of one channel
	sheet (*make)(const gx_conv *, float *);
	void (*item)(const void *, const sheet *, float *, int64_t);
} work;

static void forward_item(const void *arg, const sheet *s, float *room, int64_t i) {
	const work *k = arg;
	fill(s, k->a->x + i * k->in, k->c->in[0], k->c->in[1]);
	for (int64_t m = 0; m < k->multiple; m++) {
		int64_t o = i % k->c->ic * k->multiple + m;
		finish f = {k->a->bias ? k->a->bias[o] : 0.0f, 0, k->c->relu};
		forward_plane(k->c, s, k->a->y + (i * k->multiple + m) * k->out, k->a->w + o * k->taps, f);
	}
}

static void data_item(const void *arg, const sheet *s, float *room, int64_t i) {
	const work *k = arg;
	for (int64_t m = 0; m < k->multiple; m++) {
		fill(s, k->a->dy + (i * k->multiple + m) * k->out, k->c->out[0], k->c->out[1]);
		const float *w = k->a->w + (i % k->c->ic * k->multiple + m) * k->taps;
		data_plane(k->c, s, k->a->dx + i * k->in, w, m > 0, room);
	}
}

static float total(gx_v16 v) {
	float s = 0.0f;
	for (int l = 0; l < GX_LANES; l++) s += v[l];
	return s;
}

static void weights_item(const void *arg, const sheet *s, float *room, int64_t o) {
	const work *k = arg;
	gx_v16 sum[MOST + 1] = {};
	for (int64_t b = 0; b < k->c->batch; b++) {
		fill(s, k->a->x + (b * k->c->ic + o / k->multiple) * k->in, k->c->in[0], k->c->in[1]);
		weights_plane(k->c, s, k->a->dy + (b * k->c->oc + o) * k->out, sum, k->a->dbias != 0);
	}
	for (int64_t t = 0; t < k->taps; t++) k->a->dw[o * k->taps + t] = total(sum[t]);
	if (k->a->dbias) k->a->dbias[o] = total(sum[MOST]);
}

static void ranges(const void *arg, int64_t begin, int64_t end) {
	const work *k = arg;
	int64_t room = gx_depthwise_room(k->c);
	for (int64_t t = begin; t < end; t++) {
		sheet s = k->make(k->c, k->a->scratch + t * room);
		memset(s.at, 0, (size_t)room * sizeof *s.at);
		for (int64_t i = k->items * t / k->ranges; i < k->items * (t + 1) / k->ranges; i++) k->item(k, &s, s.at + numbers(&s), i);
	}
}

static void each(const gx_conv *c, const gx_planes *a, int threads, work k) {
	k.c = c, k.a = a, k.ranges = threads;
	k.in = c->in[0] * c->in[1], k.out = c->out[0] * c->out[1], k.taps = c->kernel[0] * c->kernel[1], k.multiple = c->oc / c->groups;
	gx_parallel(threads, threads, 1, ranges, &k);
}

void gx_depthwise_forward(const gx_conv *c, const gx_planes *a, int threads) {
	each(c, a, threads, (work){.items = c->batch * c->ic, .make = data_sheet, .item = forward_item});
}

void gx_depthwise_data(const gx_conv *c, const gx_planes *a, int threads) {
	each(c, a, threads, (work){.items = c->batch * c->ic, .make = gradient_sheet, .item = data_item});
}

void gx_depthwise_weights(const gx_conv *c, const gx_planes *a, int threads) {
	each(c, a, threads, (work){.items = c->oc, .make = data_sheet, .item = weights_item});
}
