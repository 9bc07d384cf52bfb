// Convolutions of single channels over two axes, on plain arrays: no change of layout, which would take longer than the sums.
#ifndef GX_DEPTHWISE_H
#define GX_DEPTHWISE_H

#include "conv.h"

// gx_depthwise_fits reports whether what follows computes a convolution and its gradients: one channel in every group, plain
// data, small windows, planes that stay in the caches, nothing to add.
int gx_depthwise_fits(const gx_conv *c);

// gx_depthwise_room is the number of floats of scratch memory that every thread needs.
int64_t gx_depthwise_room(const gx_conv *c);

// gx_planes holds the operands; each function reads and writes those that it needs. bias and dbias may be null.
typedef struct {
	const float *x, *w, *bias, *dy;
	float *y, *dx, *dw, *dbias, *scratch;
} gx_planes;

// Results are the same bits for any number of threads.
void gx_depthwise_forward(const gx_conv *c, const gx_planes *a, int threads);
void gx_depthwise_data(const gx_conv *c, const gx_planes *a, int threads);
void gx_depthwise_weights(const gx_conv *c, const gx_planes *a, int threads);

#endif
