//go:build cuda

// Recurrent layers of cuDNN.

#ifndef GX_RNN_H
#define GX_RNN_H

#include "dnn.h"

// The description of a recurrent network for cuDNN: all sequences have the same length.
typedef struct {
	int type, compute, math, mode, both, train;
	int steps, batch, input, hidden, out, layers;
} gcu_dnn_rnn_spec;

// The descriptors of a network, and the bytes of its parameters, its working memory and its
// reserve.
typedef struct {
	void *op, *dropout, *x, *y, *h, *c;
	int train;
	size_t weights, work, reserve;
} gcu_dnn_rnn;

int gcu_dnn_rnn_make(gcu_dnn *f, void *ctx, void *handle, const gcu_dnn_rnn_spec *s,
	gcu_dnn_rnn *r);
void gcu_dnn_rnn_free(gcu_dnn *f, gcu_dnn_rnn *r);

// A matrix and a bias among the parameters: their offsets in bytes and numbers of elements; 0
// elements if there is none.
typedef struct {
	size_t matrix_at, bias_at;
	int matrix, bias;
} gcu_dnn_rnn_part;

int gcu_dnn_rnn_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r, int layer, int gate,
	gcu_dnn_rnn_part *part);

// The operands; the names of gradients begin with d.
typedef struct {
	const void *x, *hx, *cx, *weights, *dy, *dhy, *dcy;
	void *y, *hy, *cy, *dx, *dhx, *dcx, *dweights, *work, *reserve;
} gcu_dnn_rnn_call;

int gcu_dnn_rnn_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r, const gcu_dnn_rnn_call *k);
int gcu_dnn_rnn_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r,
	const gcu_dnn_rnn_call *k);

// gcu_dnn_rnn_add adds the gradient of the parameters to dweights, after gcu_dnn_rnn_back.
int gcu_dnn_rnn_add(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_rnn *r, const gcu_dnn_rnn_call *k);

#endif
