//go:build cuda

// Convolutions of cuDNN.

#ifndef GX_CONV_H
#define GX_CONV_H

#include "dnn.h"

enum { gcu_dnn_axes = 3 }; // largest number of axes of images

// The description of a convolution for cuDNN. A convolution of one axis is described with two.
// Extents are in the order batch, channels, axes; last says that memory has the channels last.
typedef struct {
	int type, compute, math, axes, groups, last;
	int x[2 + gcu_dnn_axes], w[2 + gcu_dnn_axes], y[2 + gcu_dnn_axes];
	int pad[gcu_dnn_axes], stride[gcu_dnn_axes], dilate[gcu_dnn_axes];
} gcu_dnn_spec;

// The descriptors of a convolution. Each kind has a convolution descriptor of its own, because
// kinds may use different arithmetic.
typedef struct {
	void *x, *w, *y, *conv[3];
	int doubles;
} gcu_dnn_conv;

int gcu_dnn_conv_make(gcu_dnn *f, const gcu_dnn_spec *s, gcu_dnn_conv *c);
void gcu_dnn_conv_free(gcu_dnn *f, gcu_dnn_conv *c);
int gcu_dnn_conv_math(gcu_dnn *f, gcu_dnn_conv *c, int kind, int math);

// The operands a and b are x and w forward, w and dy for the gradient of the data, x and dy for the
// gradient of the weight; to is the result.
int gcu_dnn_conv_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, const void *a,
	const void *b, void *to, void *space, size_t bytes,
                      int *found, gcu_dnn_perf *list, int most);
int gcu_dnn_conv_size(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo,
	size_t *bytes);
int gcu_dnn_conv_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo,
	const void *a, const void *b, void *to, void *space, size_t bytes);

#endif
