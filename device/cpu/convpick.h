// Choosing the primitives of a convolution, with the layouts of their operands, among those that
// oneDNN has.
#ifndef GX_CONVPICK_H
#define GX_CONVPICK_H

#include "conv.h"
#include "dnnprog.h"

// gx_conv_descs describes the operands of a convolution as they come and go, and its window.
typedef struct {
	gx_md x, w, b, y, sum, dx;
	gx_md any_x, any_w, any_y; // a primitive chooses their layouts
	dnnl_dims_t stride, dilate, pad, pad_end;
	int64_t pixels, taps; // of one output channel, of one window
} gx_conv_descs;

// The passes of a convolution, a primitive each.
enum { GX_PASS_FORWARD, GX_PASS_DATA, GX_PASS_WEIGHTS };

// gx_pick is a primitive for one pass. x, w and y are its operands, gradients or not.
typedef struct {
	dnnl_primitive_desc_t pd;
	gx_md x, w, y;
	double ns; // estimated time with the changes of layout around it
} gx_pick;

// gx_wish says how a primitive is looked for.
typedef struct {
	int pass;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t hint; // of the forward pass, for gradients
	gx_md dy;                   // for gradients: another form in which dy exists, or null
} gx_wish;

int gx_conv_describe(gx_prog *p, const gx_conv *c, gx_conv_descs *d);

// gx_conv_hint makes a forward primitive that gradients may be asked for with.
int gx_conv_hint(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, dnnl_primitive_desc_t *hint);

// gx_conv_pick finds the primitive that takes the least time, changes of layout included. The
// program owns it.
int gx_conv_pick(gx_prog *p, const gx_conv *c, const gx_conv_descs *d, const gx_wish *w,
	gx_pick *got);

// gx_conv_flatten_ns is the estimated time of making the data plain.
double gx_conv_flatten_ns(const gx_conv *c, const gx_conv_descs *d);

// gx_conv_leaves says in which layout of ours an output with a number of channels may leave the
// program as a primitive makes it, -1 where it must be made plain.
int gx_conv_leaves(const gx_conv *c, int pass, gx_md made);

#endif
