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
void gx_adagrad(float *out, const float *w, const float *g, float *history, const gx_update *p,
	int threads);

// Rules that gx_step_rows knows.
enum { GX_SGD, GX_SGD_MOMENTUM, GX_ADAM, GX_ADAGRAD };

// gx_step_rows is a step of rows rows of n elements, in place. Row i of the weight is row wat[i] of
// w, or row i where wat is null; gat, aat and bat do the same for the gradient and the states. A
// gradient with the number -1 is zero. No row occurs twice.
void gx_step_rows(int rule, float *w, const int64_t *wat, const float *g, const int64_t *gat,
	float *a, const int64_t *aat, float *b, const int64_t *bat, int64_t rows, const gx_update *p,
	int threads);

#endif
