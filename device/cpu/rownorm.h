// Normalization of rows: of one axis, of channels, of groups of channels.
#ifndef GX_ROWNORM_H
#define GX_ROWNORM_H

#include <stdint.h>

typedef struct {
	int64_t rows, n;     // rows of n elements
	int64_t params;      // elements of gamma and beta
	// Element i of a row has parameter i; otherwise row r has parameter r % params
	int32_t per_element;
	int32_t narrow; // y, x, dx and dy are bfloat16; all else is floats
	float eps;
} gx_rownorm;

// gx_rownorm_forward writes gamma*(x-mean)/std + beta, mean and std = sqrt(var+eps), each where its
// pointer is not null.
void gx_rownorm_forward(void *y, float *mean, float *std, const void *x, const float *gamma,
	const float *beta, const gx_rownorm *p, int threads);

// gx_rownorm_grad writes the gradients of x, gamma and beta; each of these pointers may be null.
// scratch holds 2 * rows.
void gx_rownorm_grad(void *dx, float *dgamma, float *dbeta, const void *dy, const void *x,
	const float *gamma, const float *mean, const float *std, const gx_rownorm *p, float *scratch,
	int threads);

#endif
