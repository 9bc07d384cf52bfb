// Batch normalization of arrays whose channels are in blocks of 16 that run fastest, with a sum and
// a rectifier after it.
#ifndef GX_NORMBLOCK_H
#define GX_NORMBLOCK_H

#include "norm.h"

// gx_bnb is the work on an array of p.n images, p.c channels and p.inner pixels. Pointers that are
// not needed are null.
typedef struct {
	gx_bn p;
	int32_t relu;
	int32_t narrow; // y, dx, dsum, x, sum and dy are bfloat16, else floats
	// Written by forward, but y, mean and inv are read by backward
	void *y;
	float *mean, *inv, *moving_mean, *moving_var;
	void *dx, *dsum; // written by backward
	float *dgamma, *dbeta;
	const void *x, *sum, *dy;
	const float *gamma, *beta;
	void *scratch;
} gx_bnb;

// gx_bnb_scratch returns the bytes of scratch memory of either pass, to be aligned to 64.
int64_t gx_bnb_scratch(const gx_bn *p);

// gx_bnb_forward writes y = bn(x) + sum, negative values cut off with relu; sum may be null.
void gx_bnb_forward(gx_bnb b, int threads);

// gx_bnb_grad writes gradients; dsum, the gradient of the sum, may share memory with dy, and dx
// with dy or x. With relu it finds the elements that were cut off from y; without y it computes
// them again. A sum needs y.
void gx_bnb_grad(gx_bnb b, int threads);

#endif
