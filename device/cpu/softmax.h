// Softmax along one axis in the middle of (outer, n, inner), and the losses that are made of it.
#ifndef GX_SOFTMAX_H
#define GX_SOFTMAX_H

#include <stdint.h>

// gx_softmax writes exp(x/temperature) normalized along the axis, or its logarithm.
void gx_softmax(float *d, const float *x, int64_t outer, int64_t n, int64_t inner,
	float temperature, int log, int threads);

// gx_softmax_narrow does so for rows of n bfloat16 numbers, at most GX_NARROW_ROW, gx_softmax_narrow_grad for
// their gradients.
enum { GX_NARROW_ROW = 8192 };
void gx_softmax_narrow(uint16_t *d, const uint16_t *x, int64_t outer, int64_t n, float temperature,
	int log, int threads);
void gx_softmax_narrow_grad(uint16_t *dx, const uint16_t *dy, const uint16_t *y, int64_t outer,
	int64_t n, float temperature, int log, int threads);

// gx_bias_softmax writes the softmax of the rows of x + bias.
void gx_bias_softmax(float *d, const float *x, const float *bias, int64_t outer, int64_t n,
	int threads);

// gx_softmax_grad writes the gradient of the input from dy, the gradient of the output, and the
// output y.
void gx_softmax_grad(float *dx, const float *dy, const float *y, int64_t outer, int64_t n,
	int64_t inner, float temperature, int log, int threads);

// gx_softmax_loss describes the gradient of cross entropy with integer labels (outer, inner).
typedef struct {
	int64_t outer, n, inner;
	int64_t ignore;     // a label
	int32_t use_ignore; // the gradient of that label is zero
	int32_t valid;      // divide by the number of other labels
	float scale;        // of the gradient
	float smooth;       // share of the target that the other classes get
} gx_softmax_loss;

// gx_softmax_loss_grad writes scale * (y - onehot(label)).
void gx_softmax_loss_grad(float *dx, const float *y, const float *label, const gx_softmax_loss *p,
	int threads);

// gx_softmax_loss_scale returns the factor of the gradient.
float gx_softmax_loss_scale(const float *label, const gx_softmax_loss *p);

// gx_softmax_loss_columns writes n columns of the gradient of all rows, from column from on, to
// rows of d that are step apart, and the sum of each column. It wants inner = 1 and at most
// GX_LOSS_COLUMNS columns.
enum { GX_LOSS_COLUMNS = 1024 };
void gx_softmax_loss_columns(float *d, int64_t step, float *sum, const float *y, const float *label,
	const gx_softmax_loss *p, float scale, int64_t from,
							 int64_t n);

#endif
