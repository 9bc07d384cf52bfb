// Batch normalization of (n, c, inner) over n and inner.
#ifndef GX_NORM_H
#define GX_NORM_H

#include <stdint.h>

typedef struct {
	int64_t n, c, inner;
	float eps, momentum;
	int32_t fix_gamma; // gamma counts as 1 and has gradient 0
	int32_t learn;     // take mean and variance from x, and update the moving averages
} gx_bn;

// gx_bn_forward writes gamma*(x-mean)/sqrt(var+eps) + beta, mean and 1/sqrt(var+eps), each where
// its pointer is not null.
void gx_bn_forward(float *y, float *mean, float *inv, const float *x, const float *gamma,
	const float *beta, float *moving_mean, float *moving_var, const gx_bn *p, int threads);

// gx_bn_grad writes the gradients of x, gamma and beta; each of these pointers may be null.
void gx_bn_grad(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
	const float *gamma, const float *mean, const float *inv, const gx_bn *p, int threads);

#endif
