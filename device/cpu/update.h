// Steps of optimizers over n elements. w is the weight before, out the one after; they may be the
// same memory.
#ifndef GX_UPDATE_H
#define GX_UPDATE_H

#include <stdint.h>

typedef struct {
	int64_t n;
	float lr, wd, rescale, clip; // a negative clip is none
	float momentum, beta1, beta2, eps;
} gx_update;

void gx_sgd(float *out, const float *w, const float *g, const gx_update *p, int threads);
void gx_sgd_momentum(float *out, const float *w, const float *g, float *mom, const gx_update *p,
	int threads);
void gx_nag(float *out, const float *w, const float *g, float *mom, const gx_update *p,
	int threads);
void gx_adam(float *out, const float *w, const float *g, float *mean, float *var,
	const gx_update *p, int threads);

#endif
