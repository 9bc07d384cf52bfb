//go:build !nodnn

#include "directplan.h"

#include "convpick.h"
#include "direct.h"
#include "gx.h"

// Sheets of ROOM numbers stay in the second cache. A gradient of weights takes RUN pixels at once,
// which stay in the first one for the terms of a tile, and KEPT numbers of dy in the second.
enum { ROOM = 96 << 10, MOST_ROOM = 256 << 10, FEW_ROWS = 8, RUN = 1024, KEPT = 128 << 10,
	DOTS = 12 };

static int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// even is the size of pieces into which n is cut, none larger than most.
static int64_t even(int64_t n, int64_t most) { return up(n, up(n, gx_max(1, most))); }

// forward_axis describes an axis of a convolution; one that it does not have has a single pixel.
static gx_axis forward_axis(const gx_conv *c, int64_t i, int *tap) {
	gx_axis a = {1, 1, 1, 1, {0}};
	tap[0] = 0;
	if (i < 0) return a;
	a = (gx_axis){c->in[i], c->out[i], c->stride[i], (int)c->kernel[i], {0}};
	for (int t = 0; t < a.taps; t++) {
		tap[t] = t;
		a.at[t] = t * c->dilate[i] - c->pad[i];
	}
	return a;
}

// back_axis describes how inputs with a remainder modulo the stride meet outputs.
static gx_axis back_axis(const gx_conv *c, int64_t i, int64_t remainder, int *tap) {
	gx_axis a = {1, 1, 1, 1, {0}};
	tap[0] = 0;
	if (i < 0) return a;
	a = (gx_axis){c->out[i], up(c->in[i] - remainder, c->stride[i]), 1, 0, {0}};
	for (int t = 0; t < c->kernel[i]; t++) {
		int64_t from = remainder + c->pad[i] - t * c->dilate[i];
		if (from % c->stride[i] != 0) continue;
		tap[a.taps] = t;
		a.at[a.taps++] = from / c->stride[i];
	}
	return a;
}

// is_plain reports whether each output pixel meets its own input pixel alone.
static int is_plain(const gx_axis *h, const gx_axis *w) {
	const gx_axis *a[] = {h, w};
	for (int i = 0; i < 2; i++)
		if (a[i]->taps != 1 || a[i]->step != 1 || a[i]->at[0] != 0 || a[i]->in != a[i]->out)
			return 0;
	return 1;
}

static void make_parts(gx_plan *p) {
	const gx_conv *c = &p->c;
	int64_t axes = c->axes, taps = 0;
	for (int64_t y = 0; y < p->step[0]; y++)
		for (int64_t x = 0; x < p->step[1]; x++) {
			gx_part *a = &p->part[y][x];
			int back = p->pass == GX_PASS_DATA;
			gx_axis h = back ? back_axis(c, axes - 2, y, a->h) : forward_axis(c, axes - 2, a->h);
			gx_axis w = back ? back_axis(c, axes - 1, x, a->w) : forward_axis(c, axes - 1, a->w);
			a->sheet = gx_sheet_of(&h, &w, 1);
			a->taps = h.taps * w.taps;
			a->plain = is_plain(&h, &w);
			a->first = taps;
			taps += a->taps;
		}
	p->taps = taps;
	// Sums read whole vectors: the last one must end with the plane.
	if (p->pass == GX_PASS_WEIGHTS || (taps == 1 && p->in % GX_LANES == 0)) return;
	for (int i = 0; i < GX_STRIDES * GX_STRIDES; i++)
		p->part[i / GX_STRIDES][i % GX_STRIDES].plain = 0;
}

// planes is the largest room that the sheets of a channel need, of parts in one row.
static int64_t planes(const gx_plan *p, int64_t rows) {
	int64_t most = 0;
	for (int64_t y = 0; y < p->step[0]; y++) {
		int64_t n = 0;
		for (int64_t x = 0; x < p->step[1]; x++) {
			const gx_part *a = &p->part[y][x];
			if (!a->plain && a->taps > 0) n += gx_sheet_of(&a->sheet.h, &a->sheet.w, rows).plane;
		}
		most = gx_max(most, n);
	}
	return most;
}

// rows_within is the number of rows of a strip whose sheets of channels have at most room numbers.
static int64_t rows_within(const gx_plan *p, int64_t channels, int64_t room, int64_t all) {
	int64_t one = planes(p, 1), next = planes(p, 2) - one;
	if (next == 0) return all;
	return gx_min(all, 1 + (room / channels - one) / next);
}

// make_strips settles the strips of a forward pass and of a gradient of data.
static int make_strips(gx_plan *p) {
	int64_t all = p->part[0][0].sheet.h.out, wide = p->part[0][0].sheet.w.out;
	int whole = p->step[0] * p->step[1] == 1; // sums of a part of the channels may be stored
	p->cut = p->channels;
	if (whole && planes(p, gx_min(all, FEW_ROWS)) > 0)
		p->cut = even(p->channels, ROOM / planes(p, gx_min(all, FEW_ROWS)));
	p->rows = even(all, rows_within(p, p->cut, ROOM, all));
	p->room = p->cut * planes(p, p->rows) + GX_SLACK;
	if (!whole) p->room += p->step[1] * GX_HIGH * up(p->rows * wide, GX_LANES) * GX_LANES;
	return p->room <= MOST_ROOM;
}

// make_runs settles the strips and images of a gradient of weights.
static int make_runs(gx_plan *p) {
	const gx_part *a = &p->part[0][0];
	int64_t wide = a->sheet.w.out, pixels = a->sheet.h.out * wide,
		most = gx_min(RUN, gx_max(RUN / 4, KEPT / p->outputs));
	p->cut = even(p->channels, up(DOTS, a->taps));
	p->rows = even(a->sheet.h.out, most / wide);
	p->images = p->rows == a->sheet.h.out ? gx_max(1, gx_min(p->c.batch, most / pixels)) : 1;
	p->room = p->images * p->cut * planes(p, p->rows) + GX_SLACK;
	return p->room <= MOST_ROOM;
}

int gx_plan_make(gx_plan *p, const gx_conv *c, int pass) {
	*p = (gx_plan){.c = *c, .pass = pass, .in = 1, .out = 1, .step = {1, 1}, .images = 1};
	int back = pass == GX_PASS_DATA;
	if (c->axes > 2 || c->winograd || c->x_layout != GX_PLAIN ||
		(c->add && c->add_layout != GX_PLAIN))
		return 0;
	if (pass != GX_PASS_FORWARD && c->y_layout != GX_PLAIN) return 0;
	for (int64_t i = 0; i < c->axes; i++) {
		if (c->kernel[i] > GX_TAPS || c->in[i] < 1 || c->out[i] < 1 ||
			(back && c->stride[i] > gx_min(GX_STRIDES, c->in[i])))
			return 0;
		p->in *= back ? c->out[i] : c->in[i];
		p->out *= back ? c->in[i] : c->out[i];
		if (back) p->step[2 - c->axes + i] = c->stride[i];
	}
	p->channels = (back ? c->oc : c->ic) / c->groups;
	p->outputs = (back ? c->ic : c->oc) / c->groups;
	make_parts(p);
	p->turned = back && p->taps > 1;
	if (p->channels * p->taps > GX_TERMS || p->channels * p->in > INT32_MAX) return 0;
	if (!(pass == GX_PASS_WEIGHTS ? make_runs(p) : make_strips(p))) return 0;
	for (int64_t y = 0; y < p->step[0]; y++)
		for (int64_t x = 0; x < p->step[1]; x++) {
			gx_sheet *s = &p->part[y][x].sheet;
			*s = gx_sheet_of(&s->h, &s->w, p->rows);
		}
	p->strips = up(p->part[0][0].sheet.h.out, p->rows);
	return 1;
}

int64_t gx_plan_factors(const gx_plan *p) {
	return p->turned ? p->c.oc * p->c.ic / p->c.groups * p->taps : 0;
}
