// Gradients of pooling for arrays whose channels are in blocks of 16 that run fastest.
#ifndef GX_POOLBLOCK_H
#define GX_POOLBLOCK_H

#include "pool.h"

// gx_pool_block_backward is gx_pool_backward for p->planes blocks of 16 channels. 16 neighbours of
// dy are the gradient of the result of a window of a block. Only maxima read y: they give their
// gradient to the first element that equals the maximum. Powers are not supported.
// With narrow, the arrays are bfloat16; scratch then holds a plane of dx, in floats, for each thread.
void gx_pool_block_backward(void *dx, const void *dy, const void *x, const void *y,
	const gx_pool *p, int narrow, float *scratch, int threads);

#endif
