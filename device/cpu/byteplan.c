#include "byteplan.h"

// A band of wide data has about NEAR numbers, which stay in the second cache beside weights.
enum { NEAR = 96 << 10 };

// window fills in the axes. The rows of a dense layer are rows of one pixel.
static void window(gx_byteplan *p) {
	const gx_int8 *c = p->c;
	int64_t lead = 3 - c->axes;
	for (int a = 0; a < 3; a++) {
		int64_t i = a - lead, step = 1;
		p->in[a] = p->out[a] = p->kernel[a] = p->dilate[a] = 1, p->pad[a] = 0;
		if (i >= 0) {
			p->in[a] = c->in[i], p->out[a] = c->out[i], p->kernel[a] = c->kernel[i];
			p->dilate[a] = c->dilate[i], p->pad[a] = c->pad[i], step = c->stride[i];
		}
		int dense = p->kernel[a] > 1; // else pixels that no output reads are left out
		p->step[a] = dense ? step : 1, p->skip[a] = dense ? 1 : step;
	}
	if (c->axes == 0) p->batch = 1, p->in[1] = p->out[1] = c->batch;
}

gx_byteplan gx_byteplan_of(const gx_int8 *c) {
	gx_byteplan p = {.c = c, .batch = c->batch, .groups = c->groups};
	p.x_last = c->axes == 0 || c->x_layout == GX_LAST;
	p.y_last = c->axes == 0 || c->y_layout == GX_LAST;
	window(&p);
	p.each = c->ic / c->groups, p.per = c->oc / c->groups;
	p.depthwise = c->groups > 1 && p.each == 1 && p.per == 1;
	p.channels = p.depthwise ? (c->ic + GX_BLOCK - 1) / GX_BLOCK * GX_BLOCK : c->ic;
	p.columns = (p.out[2] - 1) * p.step[2] + (p.kernel[2] - 1) * p.dilate[2] + 1;
	int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2], run = p.each;
	p.runs = taps;
	if (c->groups == 1 && p.dilate[2] == 1)
		run = p.each * p.kernel[2], p.runs = p.kernel[0] * p.kernel[1];
	p.pairs = (run + 1) / 2, p.blocks = p.groups * ((p.per + GX_BLOCK - 1) / GX_BLOCK);
	if (p.depthwise) p.runs = 1, p.pairs = (taps + 1) / 2, p.blocks = p.channels / GX_BLOCK;
	int64_t slice = p.kernel[0] * p.columns * p.channels; // numbers in a row of all slices
	int64_t over = gx_byteplan_high(&p, 1) - p.step[1];
	p.rows = gx_max(1, gx_min(p.out[1], (NEAR / slice - over) / p.step[1]));
	p.bands = (p.out[1] + p.rows - 1) / p.rows * p.out[0];
	return p;
}
