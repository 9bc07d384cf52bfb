// Convolutions of (batch, channels, spatial...) as programs. With oneDNN, conv.c builds them from
// the primitives of oneDNN and the kernels of directconv.c; without it, plainconv.c builds them.
#ifndef GX_CONV_H
#define GX_CONV_H

#include "prog.h"

// gx_conv describes a convolution over 1 to 3 spatial axes. Weights are (oc, ic/groups, kernel...).
typedef struct {
	int64_t axes, batch, ic, oc, groups;
	int64_t in[3], out[3], kernel[3], stride[3], dilate[3], pad[3]; // dilate 1 is dense
	int32_t bias, train;
	// After the convolution: add another array, cut off negative values
	int32_t add, relu;
	int32_t x_layout, add_layout;   // layouts of the data and of the added array
	// The output may have any layout; weights come as gx_conv_pack leaves them
	int32_t choose_y, packed;
	// Compute 3x3 windows by Winograd's algorithm, which fails where it does not apply
	int32_t winograd;
	int32_t direct_dw;              // but not for gradients of weights
	int32_t blocked;                // channels that fill blocks of 16 shall be blocked
	int32_t y_layout;               // set by gx_conv_forward; the layout of dy for gx_conv_backward
	// The gradient of data may have any layout; set by gx_conv_backward
	int32_t choose_dx, dx_layout;
	int32_t type;                   // of the elements of all operands
} gx_conv;

// Pointers of a forward run: x, weight, bias, y, added array (which may be y).
int gx_conv_forward(gx_prog **p, gx_conv *c, int threads);

// gx_conv_pack makes the program that brings plain weights (pointer 0) into the form that conv,
// made with packed set, wants (pointer 1). conv must live longer.
int gx_conv_pack(gx_prog **p, const gx_conv *c, const gx_prog *conv, int threads);

// Pointers of a backward run: dy, x, weight, dx, dweight, dbias. want_x asks for dx, want_w for
// dweight and, when the convolution has a bias, for dbias.
int gx_conv_backward(gx_prog **p, gx_conv *c, int want_x, int want_w, int threads);

#endif
