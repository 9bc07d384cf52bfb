//go:build cuda

#include "conv.h"

#include <string.h>

int cuCtxSetCurrent(void *ctx);

int gcu_dnn_conv_make(gcu_dnn *f, const gcu_dnn_spec *s, gcu_dnn_conv *c) {
	memset(c, 0, sizeof *c);
	c->doubles = s->type == 1;
	const int n = 2 + s->axes, cross_correlation = 1, channels_first = 0, channels_last = 1;
	int err = gcu_dnn_tensor_in(f, &c->x, s->type, n, s->x, s->last);
	if (!err) err = gcu_dnn_tensor_in(f, &c->y, s->type, n, s->y, s->last);
	if (!err) err = f->CreateFilterDescriptor(&c->w);
	if (!err)
		err = f->SetFilterNdDescriptor(c->w, s->type, s->last ? channels_last : channels_first, n,
			s->w);
	for (int k = 0; k < 3 && !err; k++) {
		err = f->CreateConvolutionDescriptor(&c->conv[k]);
		if (!err)
			err = f->SetConvolutionNdDescriptor(c->conv[k], s->axes, s->pad, s->stride, s->dilate,
				cross_correlation, s->compute);
		if (!err) err = f->SetConvolutionGroupCount(c->conv[k], s->groups);
		if (!err) err = f->SetConvolutionMathType(c->conv[k], s->math);
	}
	if (err) gcu_dnn_conv_free(f, c);
	return err;
}

void gcu_dnn_conv_free(gcu_dnn *f, gcu_dnn_conv *c) {
	if (c->x) f->DestroyTensorDescriptor(c->x);
	if (c->y) f->DestroyTensorDescriptor(c->y);
	if (c->w) f->DestroyFilterDescriptor(c->w);
	for (int k = 0; k < 3; k++)
		if (c->conv[k]) f->DestroyConvolutionDescriptor(c->conv[k]);
	memset(c, 0, sizeof *c);
}

int gcu_dnn_conv_math(gcu_dnn *f, gcu_dnn_conv *c, int kind, int math) {
	return f->SetConvolutionMathType(c->conv[kind], math);
}

// operands returns the descriptors of the operands a and b and of the result of a kind.
static void operands(const gcu_dnn_conv *c, int kind, void **a, void **b, void **to) {
	*a = kind == 1 ? c->w : c->x;
	*b = kind == 0 ? c->w : c->y;
	*to = kind == 0 ? c->y : kind == 1 ? c->x : c->w;
}

int gcu_dnn_conv_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, const void *a,
	const void *b, void *to, void *space, size_t bytes,
                      int *found, gcu_dnn_perf *list, int most) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Find[kind](handle, da, a, db, b, c->conv[kind], dto, to, most, found, list, space,
		bytes);
}

int gcu_dnn_conv_size(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo,
	size_t *bytes) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Size[kind](handle, da, db, c->conv[kind], dto, algo, bytes);
}

int gcu_dnn_conv_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo,
	const void *a, const void *b, void *to, void *space, size_t bytes) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	const void *one, *none;
	gcu_dnn_scales(c->doubles, &one, &none);
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Run[kind](handle, one, da, a, db, b, c->conv[kind], algo, space, bytes, none, dto,
		to);
}
