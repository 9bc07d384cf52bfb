//go:build cuda

// cuDNN, opened at run time; the prototypes are our own and hold for versions 8 and 9.

#ifndef GX_DNN_H
#define GX_DNN_H

#include <stddef.h>
#include <stdint.h>

// The measurement of one algorithm, cudnnConvolution...AlgoPerf_t.
typedef struct {
	int algo, status;
	float time;
	size_t memory;
	int determinism, math, reserved[3];
} gcu_dnn_perf;

// The used parts of the library, each with its own functions. All parts need the first.
enum { gcu_dnn_core, gcu_dnn_convolution, gcu_dnn_pooling, gcu_dnn_softmax, gcu_dnn_norm,
	gcu_dnn_recurrent, gcu_dnn_parts };

// The library's functions. The functions of a missing part are zero.
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
	int (*Find[3])(void *, const void *, const void *, const void *, const void *, const void *,
		const void *, void *, int, int *, gcu_dnn_perf *, void *, size_t);
	int (*Size[3])(void *, const void *, const void *, const void *, const void *, int, size_t *);
	int (*Run[3])(void *, const void *, const void *, const void *, const void *, const void *,
		const void *, int, void *, size_t, const void *, const void *, void *);

	int (*CreatePoolingDescriptor)(void **);
	int (*SetPoolingNdDescriptor)(void *, int, int, int, const int *, const int *, const int *);
	int (*DestroyPoolingDescriptor)(void *);
	int (*PoolingForward)(void *, const void *, const void *, const void *, const void *,
		const void *, const void *, void *);
	int (*PoolingBackward)(void *, const void *, const void *, const void *, const void *,
		const void *, const void *, const void *, const void *, const void *,
	                       const void *, void *);

	int (*SoftmaxForward)(void *, int, int, const void *, const void *, const void *, const void *,
		const void *, void *);
	int (*SoftmaxBackward)(void *, int, int, const void *, const void *, const void *, const void *,
		const void *, const void *, const void *, void *);

	int (*DeriveBNTensorDescriptor)(void *, const void *, int);
	int (*BatchNormalizationForwardInference)(void *, int, const void *, const void *, const void *,
		const void *, const void *, void *, const void *, const void *,
	                                          const void *, const void *, const void *, double);
	int (*BatchNormalizationForwardTraining)(void *, int, const void *, const void *, const void *,
		const void *, const void *, void *, const void *, const void *,
	                                         const void *, double, void *, void *, double, void *,
		void *);
	int (*BatchNormalizationBackward)(void *, int, const void *, const void *, const void *,
		const void *, const void *, const void *, const void *, const void *,
	                                  const void *, void *, const void *, const void *, void *,
		void *, double, const void *, const void *);

	int (*CreateDropoutDescriptor)(void **);
	int (*SetDropoutDescriptor)(void *, void *, float, void *, size_t, unsigned long long);
	int (*DestroyDropoutDescriptor)(void *);
	int (*CreateRNNDescriptor)(void **);
	int (*SetRNNDescriptor)(void *, int, int, int, int, int, int, int, int, int32_t, int32_t,
		int32_t, int32_t, void *, uint32_t);
	int (*DestroyRNNDescriptor)(void *);
	int (*CreateRNNDataDescriptor)(void **);
	int (*SetRNNDataDescriptor)(void *, int, int, int, int, int, const int *, void *);
	int (*DestroyRNNDataDescriptor)(void *);
	int (*GetRNNTempSpaceSizes)(void *, void *, int, void *, size_t *, size_t *);
	int (*GetRNNWeightSpaceSize)(void *, void *, size_t *);
	int (*GetRNNWeightParams)(void *, void *, int32_t, size_t, const void *, int32_t, void *,
		void **, void *, void **);
	int (*GetTensorNdDescriptor)(void *, int, int *, int *, int *, int *);
	int (*RNNForward)(void *, void *, int, const int32_t *, void *, const void *, void *, void *,
		void *, const void *, void *, void *, const void *, void *, size_t,
	                  const void *, size_t, void *, size_t, void *);
	int (*RNNBackwardData)(void *, void *, const int32_t *, void *, const void *, const void *,
		void *, void *, void *, const void *, const void *, void *, void *,
	                       const void *, const void *, void *, size_t, const void *, size_t, void *,
		size_t, void *);
	int (*RNNBackwardWeights)(void *, void *, int, const int32_t *, void *, const void *, void *,
		const void *, void *, const void *, size_t, void *, size_t, void *,
	                          size_t, void *);
} gcu_dnn;

// gcu_dnn_load sets the functions of a part and returns whether all exist; otherwise it sets
// missing to the name of a missing one.
int gcu_dnn_load(void *lib, gcu_dnn *f, int part, const char **missing);
size_t gcu_dnn_version(gcu_dnn *f);
const char *gcu_dnn_text(gcu_dnn *f, int code);

// gcu_dnn_open makes a handle of the library for a stream. The stream may be zero if the handle is
// used to compute sizes only.
int gcu_dnn_open(gcu_dnn *f, void *ctx, void *stream, void **handle);

// gcu_dnn_tensor makes the descriptor of an array; the array is dense if strides is zero.
int gcu_dnn_tensor(gcu_dnn *f, void **d, int type, int n, const int *dims, const int *strides);

// gcu_dnn_tensor_in makes the descriptor of an array without gaps, whose channels are its axis 1:
// they lie last if last is set, and the array is row-major otherwise.
int gcu_dnn_tensor_in(gcu_dnn *f, void **d, int type, int n, const int *dims, int last);

// gcu_dnn_scales returns pointers to the numbers 1 and 0 in the type of the library's scales.
void gcu_dnn_scales(int doubles, const void **one, const void **none);

#endif
