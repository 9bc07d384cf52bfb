// The gradients of a dense layer from the softmax loss on its results, block by block: the gradient
// of the results, as large as they are, never exists as a whole.
#ifndef GX_DENSELOSS_H
#define GX_DENSELOSS_H

#include "softmax.h"

// gx_dense_loss describes a layer of in inputs and loss.n outputs for loss.outer rows.
typedef struct {
	gx_softmax_loss loss;
	int64_t in;
} gx_dense_loss;

// gx_dense_loss_room is the number of floats that gx_dense_loss_grad needs for itself.
int64_t gx_dense_loss_room(const gx_dense_loss *p, int threads);

// gx_dense_loss_grad writes the gradients of data x, weight w (outputs x inputs) and bias from the
// probabilities y and the labels. Those that are not wanted are null. It returns a status of the
// library for products.
int gx_dense_loss_grad(float *dx, float *dw, float *db, const float *y, const float *label,
	const float *x, const float *w, const gx_dense_loss *p, float *memory,
					   int threads);

#endif
