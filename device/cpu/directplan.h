// Plans of convolutions on plain arrays: which sheets are made, and how large their strips are.
#ifndef GX_DIRECTPLAN_H
#define GX_DIRECTPLAN_H

#include "conv.h"
#include "sheet.h"

// Largest stride of a gradient of data; outputs that are made at once there
enum { GX_STRIDES = 2, GX_HIGH = 6 };

// gx_part is a convolution whose outputs lie one behind the other: a forward pass, or the rows and
// columns of a gradient that have one remainder modulo the stride.
typedef struct {
	gx_sheet sheet;
	int h[GX_TAPS], w[GX_TAPS]; // taps of the window that come into it
	int64_t taps;               // of the window in all
	int plain;                  // the planes themselves are the sheets
	int64_t first;              // number of taps of the parts before it
} gx_part;

// gx_plan describes one pass of a convolution. It reads planes of input channels; a gradient of
// data reads planes of the convolution's outputs.
typedef struct {
	gx_conv c;
	int pass;
	int64_t channels, outputs; // of a group
	int64_t in, out;           // numbers of a plane that is read, of one that is written
	int64_t step[2];           // remainders that have parts
	gx_part part[GX_STRIDES][GX_STRIDES];
	int64_t taps;
	int64_t cut;    // channels that are copied at once
	int64_t rows;   // of parts in a strip
	int64_t strips;
	int64_t images; // whose sheets are there at once, for gradients of weights
	int64_t room;   // floats of scratch memory of a thread
	int turned;     // the factors are copied into the order in which sums take them
} gx_plan;

// gx_plan_make returns whether there is a plan.
int gx_plan_make(gx_plan *p, const gx_conv *c, int pass);

// gx_plan_factors is the number of factors that are copied before the sums.
int64_t gx_plan_factors(const gx_plan *p);

#endif
