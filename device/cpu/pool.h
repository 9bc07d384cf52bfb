// Pooling over planes of up to three axes.
#ifndef GX_POOL_H
#define GX_POOL_H

#include <stdint.h>

enum { GX_POOL_MAX, GX_POOL_AVG, GX_POOL_SUM, GX_POOL_LP };

// gx_pool describes a pooling; unused leading axes have extent 1, kernel 1, stride 1, pad 0.
typedef struct {
	int64_t planes; // batch * channels
	int64_t in[3], out[3], kernel[3], stride[3], pad[3];
	int32_t type, include_pad; // include_pad: averages count padding
	int32_t p;                 // norm of GX_POOL_LP: 1, 2 or 3
} gx_pool;

void gx_pool_forward(float *y, const float *x, const gx_pool *p, int threads);

// gx_pool_backward writes dx from dy; x and y are read for the maximum, whose first occurrence gets
// the gradient, and for the p-norm.
void gx_pool_backward(float *dx, const float *dy, const float *x, const float *y, const gx_pool *p,
	int threads);

#endif
