//go:build cuda

// cuDNN, opened at run time; the prototypes are our own and hold for versions 8 and 9.

#ifndef GX_DNN_H
#define GX_DNN_H

#include <stddef.h>

enum { gcu_dnn_axes = 3 }; // of images, at most

// What one algorithm did when all were tried.
typedef struct {
	int algo, status;
	float time;
	size_t memory;
	int determinism, math, reserved[3];
} gcu_dnn_perf;

typedef struct {
	size_t (*GetVersion)(void);
	int (*Create)(void **);
	int (*SetStream)(void *, void *);
	const char *(*GetErrorString)(int);
	int (*CreateTensorDescriptor)(void **);
	int (*SetTensorNdDescriptor)(void *, int, int, const int *, const int *);
	int (*DestroyTensorDescriptor)(void *);
	int (*CreateFilterDescriptor)(void **);
	int (*SetFilterNdDescriptor)(void *, int, int, int, const int *);
	int (*DestroyFilterDescriptor)(void *);
	int (*CreateConvolutionDescriptor)(void **);
	int (*SetConvolutionNdDescriptor)(void *, int, const int *, const int *, const int *, int, int);
	int (*SetConvolutionGroupCount)(void *, int);
	int (*SetConvolutionMathType)(void *, int);
	int (*DestroyConvolutionDescriptor)(void *);
	// The three kinds of a convolution: forward, gradient of the data, gradient of the weight.
	int (*Find[3])(void *, const void *, const void *, const void *, const void *, const void *, const void *, void *, int, int *, gcu_dnn_perf *, void *, size_t);
	int (*Size[3])(void *, const void *, const void *, const void *, const void *, int, size_t *);
	int (*Run[3])(void *, const void *, const void *, const void *, const void *, const void *, const void *, int, void *, size_t, const void *, const void *, void *);
} gcu_dnn;

// A convolution as the library is told of it. One that images of one axis have is told as one of two.
typedef struct {
	int type, compute, math, axes, groups;
	int x[2 + gcu_dnn_axes], w[2 + gcu_dnn_axes], y[2 + gcu_dnn_axes];
	int pad[gcu_dnn_axes], stride[gcu_dnn_axes], dilate[gcu_dnn_axes];
} gcu_dnn_spec;

// Its descriptors, a convolution's for each kind, because kinds may use different arithmetic.
typedef struct {
	void *x, *w, *y, *conv[3];
	int doubles;
} gcu_dnn_conv;

int gcu_dnn_load(void *lib, gcu_dnn *f, const char **missing);
size_t gcu_dnn_version(gcu_dnn *f);
int gcu_dnn_open(gcu_dnn *f, void *ctx, void *stream, void **handle);
const char *gcu_dnn_text(gcu_dnn *f, int code);

int gcu_dnn_conv_make(gcu_dnn *f, const gcu_dnn_spec *s, gcu_dnn_conv *c);
void gcu_dnn_conv_free(gcu_dnn *f, gcu_dnn_conv *c);
int gcu_dnn_conv_math(gcu_dnn *f, gcu_dnn_conv *c, int kind, int math);

// The operands a and b are x and w forward, w and dy for the data's gradient, x and dy for the weight's; to is the result.
int gcu_dnn_conv_find(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, const void *a, const void *b, void *to, void *space, size_t bytes,
                      int *found, gcu_dnn_perf *list, int most);
int gcu_dnn_conv_size(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo, size_t *bytes);
int gcu_dnn_conv_run(gcu_dnn *f, void *ctx, void *handle, gcu_dnn_conv *c, int kind, int algo, const void *a, const void *b, void *to, void *space, size_t bytes);

#endif
