// Gradients of pooling for arrays whose channels are in blocks of 16 that run fastest.
#ifndef GX_POOLBLOCK_H
#define GX_POOLBLOCK_H

#include "pool.h"

// gx_pool_block_backward is gx_pool_backward for p->planes blocks of 16 channels. The gradient of what each window has
// made of a block is there as 16 neighbours of dy; y is read by maxima only, which give theirs to the first element that
// has made them. Powers are not served.
void gx_pool_block_backward(float *dx, const float *dy, const float *x, const float *y, const gx_pool *p, int threads);

#endif
