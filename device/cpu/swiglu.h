// Gated linear units: silu(a)*b.
#ifndef GX_SWIGLU_H
#define GX_SWIGLU_H

#include <stdint.h>

// gx_swiglu describes rows of n elements; the rows of a, b and their gradients are step elements
// apart, others follow one another.
typedef struct {
	int64_t rows, n, step;
} gx_swiglu;

// gx_swiglu_forward writes silu(a)*b; y may be a or b where rows follow one another.
void gx_swiglu_forward(float *y, const float *a, const float *b, const gx_swiglu *p, int threads);

// gx_swiglu_grad writes the gradients of a and b; each of these pointers may be null, and may be dy
// where rows follow one another.
void gx_swiglu_grad(float *da, float *db, const float *dy, const float *a, const float *b,
	const gx_swiglu *p, int threads);

#endif
