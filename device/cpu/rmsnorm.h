// Division of rows by the root of the mean of their squares.
#ifndef GX_RMSNORM_H
#define GX_RMSNORM_H

#include <stdint.h>

typedef struct {
	int64_t rows, n; // rows of n elements, n > 0
	float eps;
} gx_rmsnorm;

// gx_rmsnorm_forward writes x*gamma/rms and rms = sqrt(mean(x*x) + eps), each where its pointer is
// not null; y may be x.
void gx_rmsnorm_forward(float *y, float *rms, const float *x, const float *gamma,
	const gx_rmsnorm *p, int threads);

// gx_rmsnorm_grad writes the gradients of x and gamma; each of these pointers may be null, and dx
// may be dy.
void gx_rmsnorm_grad(float *dx, float *dgamma, const float *dy, const float *x, const float *gamma,
	const float *rms, const gx_rmsnorm *p, int threads);

#endif
