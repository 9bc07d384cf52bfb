//go:build cuda

#include "layers.h"

#include <string.h>

int cuCtxSetCurrent(void *ctx);

// made ends the making of a layer: if err is set it frees the layer's descriptors.
static int made(gcu_dnn *f, gcu_dnn_layer *l, int err) {
	if (err) gcu_dnn_layer_free(f, l);
	return err;
}

int gcu_dnn_pool_make(gcu_dnn *f, const gcu_dnn_pool *s, gcu_dnn_layer *l) {
	memset(l, 0, sizeof *l);
	l->doubles = s->type == 1;
	int drop_nan = 0;
	int err = gcu_dnn_tensor(f, &l->x, s->type, 2 + s->axes, s->x, s->xs);
	if (!err) err = gcu_dnn_tensor(f, &l->y, s->type, 2 + s->axes, s->y, s->ys);
	if (!err) err = f->CreatePoolingDescriptor(&l->op);
	if (!err)
		err = f->SetPoolingNdDescriptor(l->op, s->mode, drop_nan, s->axes, s->kernel, s->pad,
			s->stride);
	return made(f, l, err);
}

int gcu_dnn_softmax_make(gcu_dnn *f, int type, int algorithm, const int *dims, gcu_dnn_layer *l) {
	memset(l, 0, sizeof *l);
	l->doubles = type == 1;
	l->mode = algorithm;
	return made(f, l, gcu_dnn_tensor(f, &l->x, type, 4, dims, 0));
}

int gcu_dnn_norm_make(gcu_dnn *f, int type, int mode, const int *dims, int last,
	gcu_dnn_layer *l) {
	memset(l, 0, sizeof *l);
	l->doubles = type == 1;
	l->mode = mode;
	int err = gcu_dnn_tensor_in(f, &l->x, type, 4, dims, last);
	if (!err) err = f->CreateTensorDescriptor(&l->y);
	if (!err) err = f->DeriveBNTensorDescriptor(l->y, l->x, mode);
	return made(f, l, err);
}

void gcu_dnn_layer_free(gcu_dnn *f, gcu_dnn_layer *l) {
	if (l->x) f->DestroyTensorDescriptor(l->x);
	if (l->y) f->DestroyTensorDescriptor(l->y);
	if (l->op) f->DestroyPoolingDescriptor(l->op);
	memset(l, 0, sizeof *l);
}

// BEGIN sets the thread's context and declares the scales one and none.
#define BEGIN \
	const void *one, *none; \
	gcu_dnn_scales(l->doubles, &one, &none); \
	int err = cuCtxSetCurrent(ctx); \
	if (err) return err;

int gcu_dnn_pool_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *y,
	const void *x) {
	BEGIN
	return f->PoolingForward(handle, l->op, one, l->x, x, none, l->y, y);
}

int gcu_dnn_pool_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *dx,
	const void *dy, const void *x, const void *y) {
	BEGIN
	return f->PoolingBackward(handle, l->op, one, l->y, y, l->y, dy, l->x, x, none, l->x, dx);
}

enum { each_channel = 1 };

int gcu_dnn_softmax_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *y,
	const void *x) {
	BEGIN
	return f->SoftmaxForward(handle, l->mode, each_channel, one, l->x, x, none, l->x, y);
}

int gcu_dnn_softmax_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l, void *dx,
	const void *dy, const void *y) {
	BEGIN
	return f->SoftmaxBackward(handle, l->mode, each_channel, one, l->x, y, l->x, dy, none, l->x,
		dx);
}

int gcu_dnn_norm_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l,
	const gcu_dnn_norms *k) {
	BEGIN
	return f->BatchNormalizationForwardInference(handle, l->mode, one, none, l->x, k->x, l->x,
		k->out, l->y, k->gamma, k->beta, k->mean, k->var, k->eps);
}

// cuDNN's moving averages use the unbiased variance. Ours do not, so another kernel updates them.
int gcu_dnn_norm_learn(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l,
	const gcu_dnn_norms *k) {
	BEGIN
	return f->BatchNormalizationForwardTraining(handle, l->mode, one, none, l->x, k->x, l->x,
		k->out, l->y, k->gamma, k->beta, 0, 0, 0, k->eps, k->mean, k->inv);
}

int gcu_dnn_norm_back(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_layer *l,
	const gcu_dnn_norms *k) {
	BEGIN
	return f->BatchNormalizationBackward(handle, l->mode, one, none, one, none, l->x, k->x, l->x,
		k->dy, l->x, k->out, l->y, k->gamma, k->dgamma, k->dbeta, k->eps,
	                                     k->mean, k->inv);
}
