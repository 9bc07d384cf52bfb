// A dense layer of one output, a loss on it and the gradients of the layer, in one pass over the
// data.
#ifndef GX_ROWLOSS_H
#define GX_ROWLOSS_H

#include <stdint.h>

// gx_row_loss describes the layer: rows of in inputs. The output is the sigmoid of the result, or
// the result itself; its gradient is output - label, or the sign of this difference.
typedef struct {
	int64_t rows, in;
	int sigmoid, sign;
} gx_row_loss;

// gx_row_loss_room is the number of floats that gx_row_loss_run needs for itself.
int64_t gx_row_loss_room(const gx_row_loss *p, int threads);

// gx_row_loss_run writes the outputs y, and the gradients of the weight and of the bias. The bias
// may be null, and so may results that are not wanted.
void gx_row_loss_run(float *y, float *dw, float *db, const float *x, const float *w,
	const float *bias, const float *label, const gx_row_loss *p,
					 float *memory, int threads);

#endif
