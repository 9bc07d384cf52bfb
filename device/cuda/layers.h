//go:build cuda

// Layers of cuDNN that are one call: pooling, softmax, batch normalization.

#ifndef GX_LAYERS_H
#define GX_LAYERS_H

#include "dnn.h"

// The descriptors of a layer: its data, its result (for a normalization the statistics), and its
// operation.
typedef struct {
	void *x, *y, *op;
	int mode, doubles;
} gcu_dnn_layer;

// Pooling of arrays of 2 + axes axes.
typedef struct {
	int type, mode, axes;
	int x[5], y[5], xs[5], ys[5]; // extents and strides
	int kernel[3], pad[3], stride[3];
} gcu_dnn_pool;

int gcu_dnn_pool_make(gcu_dnn *f, const gcu_dnn_pool *s, gcu_dnn_layer *l);
int gcu_dnn_softmax_make(gcu_dnn *f, int type, int algorithm, const int *dims, gcu_dnn_layer *l);
int gcu_dnn_norm_make(gcu_dnn *f, int type, int mode, const int *dims, int last,
	gcu_dnn_layer *l);
void gcu_dnn_layer_free(gcu_dnn *f, gcu_dnn_layer *l);

int gcu_dnn_pool_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *y, const void *x);
int gcu_dnn_pool_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *dx,
	const void *dy, const void *x, const void *y);
int gcu_dnn_softmax_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *y,
	const void *x);
int gcu_dnn_softmax_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *dx,
	const void *dy, const void *y);

// The operands of a normalization. Training writes mean and inv, inference reads mean and var, the
// gradient reads mean and inv.
typedef struct {
	void *out;
	const void *x, *dy, *gamma, *beta;
	void *mean, *var, *inv, *dgamma, *dbeta;
	double eps;
} gcu_dnn_norms;

int gcu_dnn_norm_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, const gcu_dnn_norms *k);
int gcu_dnn_norm_learn(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l,
	const gcu_dnn_norms *k);
int gcu_dnn_norm_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l,
	const gcu_dnn_norms *k);

#endif
