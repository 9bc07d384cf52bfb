// Convolutions and dense layers of integers of 8 bits, with sums of 32 bits: of (batch, channels,
// spatial...) as programs of oneDNN (int8.c), or by plain loops (plainint8.c).
//
// Output (n, c, ...) is made of the sum s of products, in float32 without fused steps but for the
// added array: v = s * scale[c]; v = v + offset[c]; v = fma(q, sum_step, v) for a number q of the
// added array; v = max(v, 0) for a rectifier. A float32 output is v. Other outputs are v * y_scale,
// rounded to the nearest integer, halves to even, and limited to their type.
#ifndef GX_INT8_H
#define GX_INT8_H

#include "prog.h"

// gx_int8 describes a layer. Weights are int8 (oc, ic / groups, kernel...), scale and offset are
// (oc). A program of a dense layer has no axes.
typedef struct {
	int64_t axes, batch, ic, oc, groups;
	int64_t in[3], out[3], kernel[3], stride[3], dilate[3], pad[3]; // dilate 1 is dense
	int32_t x_type, y_type, sum_type; // sum_type GX_NONE: nothing is added
	int32_t relu;
	float y_scale, sum_step;
	int32_t x_layout, sum_layout, y_layout; // GX_PLAIN or GX_LAST
	int32_t packed; // weights come as gx_int8_pack leaves them
} gx_int8;

// gx_int8_program makes the program of a layer, with pointers x, weight, scale, offset, y, added
// array (which may be y). It fails where the library has no kernel whose sums are exact.
int gx_int8_program(gx_prog **p, const gx_int8 *c, int threads);

// gx_int8_pack makes the program that brings plain weights (pointer 0) into the form that layer,
// made with packed set, wants (pointer 1). layer must live longer.
int gx_int8_pack(gx_prog **p, const gx_int8 *c, const gx_prog *layer, int threads);

// gx_int8_run computes a layer of which all arrays are plain, by plain loops.
void gx_int8_run(const gx_int8 *c, void *y, const void *x, const int8_t *w, const float *scale,
	const float *offset, const void *sum, int threads);

// gx_quantizer describes how images (batch, channels, in...), plain, become integers
// (x + shift) * scale of a type, with zeros, shifted and scaled too, before and behind each spatial
// axis: plain, or with the channels last. NaN becomes the least number.
typedef struct {
	int64_t batch, channels, in[3], before[3], out[3];
	float shift, scale;
	int32_t type, last;
} gx_quantizer;

void gx_quantize(const gx_quantizer *q, void *y, const float *x, int threads);

// gx_dequantize turns n integers of a type into q * step.
void gx_dequantize(float *y, const void *x, float step, int type, int64_t n, int threads);

// gx_bytepool describes pooling by max of bytes: arrays (batch, channels, spatial...), plain or
// with the channels last. Windows reach beyond the input, but no window lies outside of it altogether.
typedef struct {
	int64_t batch, channels, in[3], out[3], kernel[3], stride[3], pad[3];
	int32_t is_signed, x_last, y_last;
} gx_bytepool;

void gx_bytepool_run(const gx_bytepool *p, void *y, const void *x, int threads);

#endif
