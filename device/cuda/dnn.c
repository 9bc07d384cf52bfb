//go:build cuda

#include "dnn.h"

#include <dlfcn.h>
#include <string.h>

int cuCtxSetCurrent(void *ctx);

#define LOAD_AS(field, name) \
	if (!(f->field = dlsym(lib, "cudnn" name))) { \
		*missing = "cudnn" name; \
		return 1; \
	}
#define LOAD(name) LOAD_AS(name, #name)

int gcu_dnn_load(void *lib, gcu_dnn *f, const char **missing) {
	LOAD(GetVersion)
	LOAD(Create)
	LOAD(SetStream)
	LOAD(GetErrorString)
	LOAD(CreateTensorDescriptor)
	LOAD(SetTensorNdDescriptor)
	LOAD(DestroyTensorDescriptor)
	LOAD(CreateFilterDescriptor)
	LOAD(SetFilterNdDescriptor)
	LOAD(DestroyFilterDescriptor)
	LOAD(CreateConvolutionDescriptor)
	LOAD(SetConvolutionNdDescriptor)
	LOAD(SetConvolutionGroupCount)
	LOAD(SetConvolutionMathType)
	LOAD(DestroyConvolutionDescriptor)
	LOAD_AS(Find[0], "FindConvolutionForwardAlgorithmEx")
	LOAD_AS(Find[1], "FindConvolutionBackwardDataAlgorithmEx")
	LOAD_AS(Find[2], "FindConvolutionBackwardFilterAlgorithmEx")
	LOAD_AS(Size[0], "GetConvolutionForwardWorkspaceSize")
	LOAD_AS(Size[1], "GetConvolutionBackwardDataWorkspaceSize")
	LOAD_AS(Size[2], "GetConvolutionBackwardFilterWorkspaceSize")
	LOAD_AS(Run[0], "ConvolutionForward")
	LOAD_AS(Run[1], "ConvolutionBackwardData")
	LOAD_AS(Run[2], "ConvolutionBackwardFilter")
	return 0;
}

size_t gcu_dnn_version(gcu_dnn *f) { return f->GetVersion(); }

int gcu_dnn_open(gcu_dnn *f, void *ctx, void *stream, void **handle) {
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = f->Create(handle);
	if (!err) err = f->SetStream(*handle, stream);
	return err;
}

const char *gcu_dnn_text(gcu_dnn *f, int code) { return f->GetErrorString(code); }

// tensor makes the descriptor of a dense array.
static int tensor(gcu_dnn *f, void **d, int type, int n, const int *dims) {
	int strides[2 + gcu_dnn_axes], step = 1;
	for (int i = n - 1; i >= 0; i--) {
		strides[i] = step;
		step *= dims[i];
	}
	int err = f->CreateTensorDescriptor(d);
	return err ? err : f->SetTensorNdDescriptor(*d, type, n, dims, strides);
}

int gcu_dnn_conv_make(gcu_dnn *f, const gcu_dnn_spec *s, gcu_dnn_conv *c) {
	memset(c, 0, sizeof *c);
	c->doubles = s->type == 1;
	int n = 2 + s->axes, cross_correlation = 1;
	int err = tensor(f, &c->x, s->type, n, s->x);
	if (!err) err = tensor(f, &c->y, s->type, n, s->y);
	if (!err) err = f->CreateFilterDescriptor(&c->w);
	if (!err) err = f->SetFilterNdDescriptor(c->w, s->type, 0, n, s->w);
	for (int k = 0; k < 3 && !err; k++) {
		err = f->CreateConvolutionDescriptor(&c->conv[k]);
		if (!err) err = f->SetConvolutionNdDescriptor(c->conv[k], s->axes, s->pad, s->stride, s->dilate, cross_correlation, s->compute);
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

int gcu_dnn_conv_math(gcu_dnn *f, gcu_dnn_conv *c, int kind, int math) { return f->SetConvolutionMathType(c->conv[kind], math); }

// operands tells which descriptors the operands and the result of a kind have.
static void operands(const gcu_dnn_conv *c, int kind, void **a, void **b, void **to) {
	*a = kind == 1 ? c->w : c->x;
	*b = kind == 0 ? c->w : c->y;
	*to = kind == 0 ? c->y : kind == 1 ? c->x : c->w;
}

int gcu_dnn_conv_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, const void *a, const void *b, void *to, void *space, size_t bytes,
                      int *found, gcu_dnn_perf *list, int most) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Find[kind](handle, da, a, db, b, c->conv[kind], dto, to, most, found, list, space, bytes);
}

int gcu_dnn_conv_size(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo, size_t *bytes) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Size[kind](handle, da, db, c->conv[kind], dto, algo, bytes);
}

int gcu_dnn_conv_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo, const void *a, const void *b, void *to, void *space, size_t bytes) {
	int err = cuCtxSetCurrent(ctx);
	if (err) return err;
	float f1 = 1, f0 = 0;
	double d1 = 1, d0 = 0;
	const void *one = c->doubles ? (const void *)&d1 : &f1, *none = c->doubles ? (const void *)&d0 : &f0;
	void *da, *db, *dto;
	operands(c, kind, &da, &db, &dto);
	return f->Run[kind](handle, one, da, a, db, b, c->conv[kind], algo, space, bytes, none, dto, to);
}
