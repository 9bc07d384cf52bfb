// Rectifiers with a learned slope for negative values of every channel.
#ifndef GX_PRELU_H
#define GX_PRELU_H

#include <stdint.h>

// gx_prelu is the order of an array: outer images of blocks of channels, inner pixels of a block,
// lanes channels of a pixel. There are blocks * lanes slopes.
typedef struct {
	int64_t outer, blocks, inner, lanes;
} gx_prelu;

// gx_prelu_forward writes x where it is positive and slope times x elsewhere; y may be x.
void gx_prelu_forward(float *y, const float *x, const float *slope, const gx_prelu *p, int threads);

// gx_prelu_backward writes gradients of x and of slopes; dx, which may be dy, or dslope may be
// null.
void gx_prelu_backward(float *dx, float *dslope, const float *dy, const float *x,
	const float *slope, const gx_prelu *p, int threads);

#endif
