//go:build !nodnn

#include "convpick.h"
#include "directconv.h"
#include "directplan.h"
#include "gemm.h"
#include "gx.h"

// cost counts the operations of a pass that take time.
typedef struct {
	double calls, tiles, loads, macs; // of sums: numbers of operands in tiles, products in vectors
	double rows, copied;              // of sheets
	double touched; // numbers of operands
	double far;     // equal to touched if the operands exceed the second cache, otherwise 0
	double factors;
} cost;

enum { NEAR = 256 << 10 };

// add_fill counts the copies of planes to sheets. A copy of every second number takes twice the
// time of a plain copy. Numbers further apart are gathered one by one, which takes five times the
// time.
static void add_fill(cost *k, const gx_sheet *s, double times) {
	double rows = times * (double)(s->w.taps * s->classes * s->depth);
	k->rows += s->narrow == 2 ? rows / 2.0 : rows;
	double slower = s->w.step > 2 ? 5.0 : (double)s->w.step;
	k->copied += rows * (double)s->w.out * slower;
}

// tiling is how sums are made: n times m of them in tiles of at most high times wide.
typedef struct {
	double n, high, m, wide;
} tiling;

static void add_tiles(cost *k, double times, tiling t, double terms) {
	double down = ceil(t.n / t.high), across = ceil(t.m / t.wide), tiles = times * down * across;
	k->tiles += tiles;
	k->loads += tiles * terms * (t.n / down + t.m / across);
	k->macs += tiles * terms * (t.n / down) * (t.m / across);
}

static cost cost_of(const gx_plan *p) {
	double images = (double)(p->c.batch * p->c.groups), strips = (double)p->strips * images;
	double outputs = (double)p->outputs, channels = (double)p->channels,
		cuts = ceil(channels / (double)p->cut);
	cost k = {.calls = strips, .touched = images *
		(channels * (double)p->in + outputs * (double)p->out)};
	if (k.touched > NEAR) k.far = k.touched;
	k.factors = (double)gx_plan_factors(p);
	for (int64_t i = 0; i < p->step[0] * p->step[1]; i++) {
		const gx_part *a = &p->part[i / p->step[1]][i % p->step[1]];
		if (a->taps == 0) continue;
		double terms = channels * (double)a->taps / cuts, together = (double)p->images;
		double vectors = ceil((double)(a->sheet.h.out * a->sheet.w.out) /
			(double)(p->strips * GX_LANES));
		if (!a->plain) add_fill(&k, &a->sheet, strips * channels);
		if (p->pass == GX_PASS_WEIGHTS)
			add_tiles(&k, strips * cuts / together, (tiling){outputs, 4.0, terms, 6.0},
				vectors * together);
		else
			add_tiles(&k, strips * cuts, (tiling){outputs, 6.0, vectors, 4.0}, terms);
	}
	if (p->step[0] * p->step[1] > 1) {
		k.rows += 2.0 * images * outputs * (double)(p->part[0][0].sheet.h.out * p->step[0]);
		k.copied += images * outputs * (double)p->out;
	}
	return k;
}

// gx_direct_ns weighs each cost with nanoseconds of one thread with wide vectors, fitted to 1,700
// passes. For four of five passes the estimate is 0.65 to 1.1 times the time taken. Gradients of
// data are given a fifth more, as the estimates of oneDNN's gradients are too long by as much. Sums in
// narrower vectors take four times as long.
double gx_direct_ns(const gx_conv *c, int pass) {
	gx_plan p;
	if (!gx_plan_make(&p, c, pass)) return INFINITY;
	cost k = cost_of(&p);
	double slow = gx_gemm_can() ? 1.0 : 4.0;
	if (pass == GX_PASS_WEIGHTS) {
		double sums = 10.0 * k.calls + 18.0 * k.tiles + 0.36 * k.loads + 0.027 * k.macs;
		return 130.0 + slow * sums + 0.3 * k.rows + 0.055 * k.copied + 0.015 * k.touched +
			0.018 * k.far;
	}
	double sums = 17.0 * k.calls + 3.6 * k.tiles + 0.11 * k.loads + 0.092 * k.macs;
	double ns = 130.0 + slow * sums + k.rows + 0.045 * k.copied + 0.012 * (k.touched + k.far) +
		0.65 * k.factors;
	return pass == GX_PASS_DATA ? 1.2 * ns : ns;
}
