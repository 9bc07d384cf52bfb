//go:build !nodnn

#include "directconv.h"

#include "direct.h"
#include "directplan.h"
#include "gx.h"

// run is a forward pass or a gradient of data.
typedef struct {
	const gx_plan *p;
	const float *x, *w, *bias, *add;
	float *y, *room;
	int64_t items, ranges, shares; // shares into which the outputs of a group are split
} run;

// item is the part of a run that has one image, group, strip and share.
typedef struct {
	int64_t group;
	int64_t row, rows;  // of parts
	int64_t begin, end; // outputs
	const float *x;     // first plane that is read
	float *y;           // first plane that is written
	const float *add;
} item;

// offsets writes the offsets of the terms of a part to at, behind the terms of the parts before it.
static void offsets(const gx_plan *p, const gx_part *a, int32_t *at) {
	at += a->first * p->channels;
	if (a->plain)
		for (int64_t k = 0; k < p->channels; k++) at[k] = (int32_t)(k * p->in);
	else
		gx_sheet_offsets(&a->sheet, p->cut, at);
}

// factors points d at the weights of a part: at the weight of its output 0 and channel 0.
static void factors(gx_direct *d, const run *r, const gx_part *a, int64_t group) {
	const gx_plan *p = r->p;
	int64_t of_group = p->channels * p->outputs;
	d->along = 1;
	if (p->turned) {
		d->down = p->channels * a->taps;
		d->w = r->w + (p->c.groups * a->first + group * a->taps) * of_group;
		return;
	}
	d->down = p->channels * p->taps;
	d->w = r->w + group * of_group * p->taps;
	if (p->pass == GX_PASS_DATA) d->along = p->outputs, d->down = 1;
}

// whole computes an item of a pass that has one part.
static void whole(const run *r, const item *i, const int32_t *at, float *room) {
	const gx_plan *p = r->p;
	const gx_part *a = &p->part[0][0];
	const gx_conv *c = &p->c;
	int64_t pixel = i->row * a->sheet.w.out;
	gx_direct d = {.at = at, .pitch = p->out, .outputs = i->end - i->begin,
		.pixels = i->rows * a->sheet.w.out};
	factors(&d, r, a, i->group);
	d.w += i->begin * d.down;
	d.y = i->y + i->begin * p->out + pixel;
	if (r->bias) d.bias = r->bias + i->group * p->outputs + i->begin;
	if (i->add) d.add = i->add + i->begin * p->out + pixel;
	for (int64_t k = 0; k < p->channels; k += p->cut) {
		int64_t n = gx_min(p->cut, p->channels - k);
		d.terms = n * a->taps;
		d.x = i->x + pixel;
		if (!a->plain) {
			gx_sheet_fill(&a->sheet, room, i->x + k * p->in, n, i->row, i->rows);
			d.x = room;
		}
		d.relu = c->relu && p->pass == GX_PASS_FORWARD && k + n == p->channels;
		gx_direct_run(&d);
		d.w += n * a->taps * d.along;
		d.bias = 0, d.add = d.y;
	}
}

// weave writes a row of n numbers that come from two, in turn; null are zeros.
GX_CLONES static void weave(float *d, const float *even, const float *odd, int64_t n) {
	const gx_i16 low = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
	const gx_i16 high = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
	for (int64_t i = 0; i < n; i += 2 * GX_LANES) {
		// Some numbers twice
		if (i + 2 * GX_LANES > n && n >= 2 * GX_LANES && n % 2 == 0) i = n - 2 * GX_LANES;
		gx_v16 a = {}, b = {};
		if (even) a = GX_AT(even + i / 2);
		if (odd) b = GX_AT(odd + i / 2);
		gx_v16 first = __builtin_shuffle(a, b, low), last = __builtin_shuffle(a, b, high);
		if (i + 2 * GX_LANES <= n) {
			GX_AT(d + i) = first, GX_AT(d + i + GX_LANES) = last;
			continue;
		}
		if (i + GX_LANES <= n) GX_AT(d + i) = first;
		for (int64_t k = i + GX_LANES <= n ? GX_LANES : 0; k < n - i; k++)
			d[i + k] = k < GX_LANES ? first[k] : last[k - GX_LANES];
	}
}

// deliver writes the rows of dx that have remainder y, from the sums of its parts; null are zeros.
static void deliver(const gx_plan *p, float *dx, int64_t y, const item *i, float *const *sums) {
	int64_t n = p->part[0][p->step[1] - 1].sheet.w.out, wide = p->part[0][0].sheet.w.out,
		all = wide + (p->step[1] > 1 ? n : 0);
	int64_t end = gx_min(i->row + i->rows, p->part[y][0].sheet.h.out);
	for (int64_t r = i->row; r < end; r++) {
		float *to = dx + (r * p->step[0] + y) * all;
		const float *a = sums[0] ? sums[0] + (r - i->row) * wide : 0;
		if (p->step[1] == 2)
			weave(to, a, sums[1] ? sums[1] + (r - i->row) * n : 0, all);
		else if (a)
			memcpy(to, a, (size_t)all * sizeof *to);
		else
			memset(to, 0, (size_t)all * sizeof *to);
	}
}

// woven computes an item of a pass that has a part for every remainder: a few outputs at a time,
// whose parts become rows.
static void woven(const run *r, const item *i, const int32_t *at, float *room) {
	const gx_plan *p = r->p;
	for (int64_t y = 0; y < p->step[0]; y++) {
		gx_direct d[GX_STRIDES] = {};
		float *sums[GX_STRIDES] = {}, *next = room;
		for (int64_t x = 0; x < p->step[1]; x++) {
			const gx_part *a = &p->part[y][x];
			int64_t rows = gx_min(i->rows, a->sheet.h.out - i->row), wide = a->sheet.w.out;
			if (a->taps == 0 || rows <= 0) continue;
			sums[x] = next;
			next += GX_HIGH * p->part[0][0].sheet.rows * p->part[0][0].sheet.w.out;
			d[x] = (gx_direct){.at = at + a->first * p->channels, .terms = p->channels * a->taps,
				.y = sums[x], .pixels = rows * wide};
			d[x].pitch = d[x].pixels;
			d[x].x = i->x + i->row * wide;
			factors(&d[x], r, a, i->group);
			d[x].w += i->begin * d[x].down;
		}
		for (int64_t x = 0; x < p->step[1]; x++) {
			const gx_part *a = &p->part[y][x];
			if (!sums[x] || a->plain) continue;
			gx_sheet_fill(&a->sheet, next, i->x, p->channels, i->row, d[x].pixels / a->sheet.w.out);
			d[x].x = next;
			next += p->channels * a->sheet.plane;
		}
		for (int64_t o = i->begin; o < i->end; o += GX_HIGH) {
			int64_t n = gx_min(GX_HIGH, i->end - o);
			for (int64_t x = 0; x < p->step[1]; x++) {
				if (!sums[x]) continue;
				d[x].outputs = n;
				gx_direct_run(&d[x]);
				d[x].w += n * d[x].down;
			}
			for (int64_t k = 0; k < n; k++) {
				float *of[GX_STRIDES] = {};
				for (int64_t x = 0; x < p->step[1]; x++)
					if (sums[x]) of[x] = sums[x] + k * d[x].pitch;
				deliver(p, i->y + (o + k) * p->out, y, i, of);
			}
		}
	}
}

static item item_of(const run *r, int64_t n) {
	const gx_plan *p = r->p;
	item i;
	// Of image and group
	int64_t share = n % r->shares, strip = n / r->shares % p->strips,
		plane = n / r->shares / p->strips;
	i.group = plane % p->c.groups;
	i.row = strip * p->rows;
	i.rows = gx_min(p->rows, p->part[0][0].sheet.h.out - i.row);
	i.begin = p->outputs * share / r->shares, i.end = p->outputs * (share + 1) / r->shares;
	i.x = r->x + plane * p->channels * p->in;
	i.y = r->y + plane * p->outputs * p->out;
	i.add = r->add ? r->add + plane * p->outputs * p->out : 0;
	return i;
}

static void range(const void *arg, int64_t begin, int64_t end) {
	const run *r = arg;
	const gx_plan *p = r->p;
	int32_t at[GX_TERMS];
	for (int64_t y = 0; y < p->step[0]; y++)
		for (int64_t x = 0; x < p->step[1]; x++) offsets(p, &p->part[y][x], at);
	for (int64_t t = begin; t < end; t++)
		for (int64_t n = r->items * t / r->ranges; n < r->items * (t + 1) / r->ranges; n++) {
			item i = item_of(r, n);
			if (p->step[0] * p->step[1] == 1)
				whole(r, &i, at, r->room + t * p->room);
			else
				woven(r, &i, at, r->room + t * p->room);
		}
}

static void run_items(run *r, int threads) {
	const gx_plan *p = r->p;
	r->items = p->c.batch * p->c.groups * p->strips;
	r->shares = r->items >= threads ? 1 : gx_min((threads + r->items - 1) / r->items,
		(p->outputs + GX_HIGH - 1) / GX_HIGH);
	r->items *= r->shares;
	r->ranges = gx_min(threads, r->items);
	gx_parallel((int)r->ranges, r->ranges, 1, range, r);
}

static void run_forward(const void *arg, void *const *at, int threads) {
	const gx_plan *p = arg;
	run r = {.p = p, .x = at[0], .w = at[1], .bias = p->c.bias ? at[2] : 0, .y = at[3],
		.add = p->c.add ? at[4] : 0, .room = at[5]};
	run_items(&r, threads);
}

typedef struct {
	const gx_plan *p;
	const float *w;
	float *d;
} turn;

// turn_range copies the weights of channels of the data, which are the outputs of a gradient, in
// the order of its terms.
static void turn_range(const void *arg, int64_t begin, int64_t end) {
	const turn *t = arg;
	const gx_plan *p = t->p;
	int64_t wide = p->c.kernel[p->c.axes - 1];
	for (int64_t i = begin; i < end; i++) {
		const float *w = t->w + (i / p->outputs * p->channels * p->outputs + i % p->outputs) *
			p->taps;
		for (int64_t k = 0; k < p->step[0] * p->step[1]; k++) {
			const gx_part *a = &p->part[k / p->step[1]][k % p->step[1]];
			const float *s = w;
			float *d = t->d + (p->c.groups * p->outputs * a->first + i * a->taps) * p->channels;
			for (int64_t o = 0; o < p->channels; o++, s += p->outputs * p->taps)
				for (int h = 0; h < a->sheet.h.taps; h++)
					for (int v = 0; v < a->sheet.w.taps; v++) *d++ = s[a->h[h] * wide + a->w[v]];
		}
	}
}

static void run_data(const void *arg, void *const *at, int threads) {
	const gx_plan *p = arg;
	run r = {.p = p, .x = at[0], .w = at[1], .y = at[2], .room = at[3]};
	if (p->turned) {
		turn t = {p, at[1], at[4]};
		gx_parallel(threads, p->c.ic, 1, turn_range, &t);
		r.w = at[4];
	}
	run_items(&r, threads);
}

// grad is a gradient of weights.
typedef struct {
	const gx_plan *p;
	const float *x, *dy;
	float *dw, *dbias, *room;
	int64_t items, ranges, shares;
} grad;

// dots adds the products of some images and of a strip to the gradients of an item, which is a
// group, a cut and a share.
static void dots(const grad *r, const int32_t *at, float *room, int64_t n, int64_t image,
	int64_t row) {
	const gx_plan *p = r->p;
	const gx_part *a = &p->part[0][0];
	int64_t cuts = (p->channels + p->cut - 1) / p->cut, share = n % r->shares,
		k = n / r->shares % cuts * p->cut, group = n / r->shares / cuts;
	int64_t count = gx_min(p->cut, p->channels - k), rows = gx_min(p->rows, a->sheet.h.out - row),
		begin = p->outputs * share / r->shares;
	int64_t output = group * p->outputs + begin;
	gx_dots d = {.at = at, .images = gx_min(p->images, p->c.batch - image),
		.x_image = p->c.ic * p->in, .dy_image = p->c.oc * p->out};
	d.outputs = p->outputs * (share + 1) / r->shares - begin, d.terms = count * a->taps,
		d.pixels = rows * a->sheet.w.out;
	d.pitch = p->out, d.down = p->channels * p->taps, d.add = image > 0 || row > 0;
	d.dy = r->dy + (image * p->c.oc + output) * p->out + row * a->sheet.w.out;
	d.dw = r->dw + output * d.down + k * p->taps;
	if (k == 0 && r->dbias) d.dbias = r->dbias + output;
	const float *planes = r->x + (image * p->c.ic + group * p->channels + k) * p->in;
	d.x = planes + row * a->sheet.w.out;
	if (!a->plain) {
		d.x = room, d.x_image = p->cut * a->sheet.plane;
		for (int64_t b = 0; b < d.images; b++)
			gx_sheet_fill(&a->sheet, room + b * d.x_image, planes + b * p->c.ic * p->in, count, row,
				rows);
	}
	gx_dots_run(&d);
}

// dots_range takes the images and strips in order, so that dy stays in a cache while all items take
// it.
static void dots_range(const void *arg, int64_t begin, int64_t end) {
	const grad *r = arg;
	const gx_plan *p = r->p;
	int32_t at[GX_TERMS];
	offsets(p, &p->part[0][0], at);
	for (int64_t t = begin; t < end; t++)
		for (int64_t image = 0; image < p->c.batch; image += p->images)
			for (int64_t strip = 0; strip < p->strips; strip++)
				for (int64_t n = r->items * t / r->ranges; n < r->items * (t + 1) / r->ranges; n++)
					dots(r, at, r->room + t * p->room, n, image, strip * p->rows);
}

static void run_weights(const void *arg, void *const *at, int threads) {
	const gx_plan *p = arg;
	grad r = {.p = p, .dy = at[0], .x = at[1], .dw = at[2], .dbias = p->c.bias ? at[3] : 0,
		.room = at[4]};
	r.items = p->c.groups * ((p->channels + p->cut - 1) / p->cut);
	r.shares = r.items >= threads ? 1 : gx_min((threads + r.items - 1) / r.items,
		(p->outputs + GX_HIGH - 1) / GX_HIGH);
	r.items *= r.shares;
	r.ranges = gx_min(threads, r.items);
	gx_parallel((int)r.ranges, r.ranges, 1, dots_range, &r);
}

int gx_direct_add(gx_prog *prog, const gx_conv *c, int pass, gx_place x, int threads) {
	static const char *name = "gomx:direct";
	gx_plan p;
	if (!gx_plan_make(&p, c, pass)) return dnnl_unimplemented;
	gx_place room = gx_prog_room(prog, threads * p.room);
	if (pass == GX_PASS_FORWARD) {
		gx_place at[] = {x, {1, 0}, {2, 0}, {3, 0}, {4, 0}, room};
		return gx_prog_own(prog, run_forward, name, &p, sizeof p, at, 6);
	}
	if (pass == GX_PASS_WEIGHTS) {
		gx_place at[] = {{0, 0}, x, {4, 0}, {5, 0}, room};
		return gx_prog_own(prog, run_weights, name, &p, sizeof p, at, 5);
	}
	gx_place at[] = {{0, 0}, {2, 0}, {3, 0}, room, gx_prog_room(prog, gx_plan_factors(&p))};
	return gx_prog_own(prog, run_data, name, &p, sizeof p, at, 5);
}
