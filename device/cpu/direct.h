// Convolutions as sums over terms: a term is a run of numbers, one for each output pixel, and has a
// factor for each output.
#ifndef GX_DIRECT_H
#define GX_DIRECT_H

#include <stdint.h>

enum { GX_TERMS = 4096 }; // at most

// gx_direct are the outputs of one strip: y[o * pitch + p] = the sum of w[o * down + k * along] *
// x[at[k] + p].
typedef struct {
	const float *x;
	const int32_t *at;
	int64_t terms;
	const float *w;
	int64_t down, along;
	// Start of the sums: a number for each output, an array like y; may be null
	const float *bias, *add;
	float *y;
	int64_t pitch, outputs, pixels;
	int relu;
} gx_direct;

// gx_direct_run computes them. Numbers of x are read up to the end of the vector in which the last
// pixel lies.
void gx_direct_run(const gx_direct *d);

// gx_dots are products of runs, summed over images: dw[o * down + t] = the sum of dy[o * pitch + p]
// * x[at[t] + p].
typedef struct {
	const float *x, *dy;
	const int32_t *at;
	int64_t x_image, dy_image, images; // floats between images
	int64_t pitch, outputs, terms, pixels;
	float *dw, *dbias; // dbias, of dy alone, may be null
	int64_t down;
	int add; // 1: add to dw and dbias, 0: overwrite them
} gx_dots;

void gx_dots_run(const gx_dots *d);

#endif
