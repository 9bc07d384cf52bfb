// Convolutions of (batch, channels, spatial...) by oneDNN programs.
#ifndef GX_CONV_H
#define GX_CONV_H

#include "prog.h"

// gx_conv describes a convolution over 1 to 3 spatial axes. Weights are (oc, ic/groups, kernel...).
typedef struct {
	int64_t axes, batch, ic, oc, groups;
	int64_t in[3], out[3], kernel[3], stride[3], dilate[3], pad[3]; // dilate 1 is dense
	int32_t bias, train;
} gx_conv;

// Pointers of a forward run: x, weight, bias, y.
int gx_conv_forward(gx_prog **p, const gx_conv *c, int threads);

// Pointers of a backward run: dy, x, weight, dx, dweight, dbias. want_x and want_w choose what is computed; dbias
// comes with dweight when the convolution has a bias.
int gx_conv_backward(gx_prog **p, const gx_conv *c, int want_x, int want_w, int threads);

#endif
