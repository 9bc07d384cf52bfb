//go:build cuda

#include "dnn.h"

#include <dlfcn.h>

int cuCtxSetCurrent(void *ctx);

// The position of each function's address in gcu_dnn.
#define AS(part, field, name) {gcu_dnn_##part, offsetof(gcu_dnn, field), "cudnn" name}
#define F(part, name) AS(part, name, #name)
static const struct {
	int part;
	size_t at;
	const char *name;
} functions[] = {
    F(core, GetVersion),
    F(core, Create),
    F(core, SetStream),
    F(core, GetErrorString),
    F(core, CreateTensorDescriptor),
    F(core, SetTensorNdDescriptor),
    F(core, DestroyTensorDescriptor),
    F(convolution, CreateFilterDescriptor),
    F(convolution, SetFilterNdDescriptor),
    F(convolution, DestroyFilterDescriptor),
    F(convolution, CreateConvolutionDescriptor),
    F(convolution, SetConvolutionNdDescriptor),
    F(convolution, SetConvolutionGroupCount),
    F(convolution, SetConvolutionMathType),
    F(convolution, DestroyConvolutionDescriptor),
    AS(convolution, Find[0], "FindConvolutionForwardAlgorithmEx"),
    AS(convolution, Find[1], "FindConvolutionBackwardDataAlgorithmEx"),
    AS(convolution, Find[2], "FindConvolutionBackwardFilterAlgorithmEx"),
    AS(convolution, Size[0], "GetConvolutionForwardWorkspaceSize"),
    AS(convolution, Size[1], "GetConvolutionBackwardDataWorkspaceSize"),
    AS(convolution, Size[2], "GetConvolutionBackwardFilterWorkspaceSize"),
    AS(convolution, Run[0], "ConvolutionForward"),
    AS(convolution, Run[1], "ConvolutionBackwardData"),
    AS(convolution, Run[2], "ConvolutionBackwardFilter"),
    F(pooling, CreatePoolingDescriptor),
    F(pooling, SetPoolingNdDescriptor),
    F(pooling, DestroyPoolingDescriptor),
    F(pooling, PoolingForward),
    F(pooling, PoolingBackward),
    F(softmax, SoftmaxForward),
    F(softmax, SoftmaxBackward),
    F(norm, DeriveBNTensorDescriptor),
    F(norm, BatchNormalizationForwardInference),
    F(norm, BatchNormalizationForwardTraining),
    F(norm, BatchNormalizationBackward),
    F(recurrent, CreateDropoutDescriptor),
    F(recurrent, SetDropoutDescriptor),
    F(recurrent, DestroyDropoutDescriptor),
    F(recurrent, CreateRNNDescriptor),
    AS(recurrent, SetRNNDescriptor, "SetRNNDescriptor_v8"),
    F(recurrent, DestroyRNNDescriptor),
    F(recurrent, CreateRNNDataDescriptor),
    F(recurrent, SetRNNDataDescriptor),
    F(recurrent, DestroyRNNDataDescriptor),
    F(recurrent, GetRNNTempSpaceSizes),
    F(recurrent, GetRNNWeightSpaceSize),
    F(recurrent, GetRNNWeightParams),
    F(recurrent, GetTensorNdDescriptor),
    F(recurrent, RNNForward),
    AS(recurrent, RNNBackwardData, "RNNBackwardData_v8"),
    AS(recurrent, RNNBackwardWeights, "RNNBackwardWeights_v8"),
};

int gcu_dnn_load(void *lib, gcu_dnn *f, int part, const char **missing) {
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (functions[i].part != part) continue;
		void *address = dlsym(lib, functions[i].name);
		if (!address) {
			*missing = functions[i].name;
			return 0;
		}
		*(void **)((char *)f + functions[i].at) = address;
	}
	return 1;
}

size_t gcu_dnn_version(gcu_dnn *f) { return f->GetVersion(); }

const char *gcu_dnn_text(gcu_dnn *f, int code) { return f->GetErrorString(code); }

int gcu_dnn_open(gcu_dnn *f, void *ctx, void *stream, void **handle) {
	int err = cuCtxSetCurrent(ctx);
	if (!err) err = f->Create(handle);
	if (!err && stream) err = f->SetStream(*handle, stream);
	return err;
}

int gcu_dnn_tensor(gcu_dnn *f, void **d, int type, int n, const int *dims, const int *strides) {
	int dense[8], step = 1;
	for (int i = n - 1; i >= 0; i--) {
		dense[i] = step;
		step *= dims[i];
	}
	int err = f->CreateTensorDescriptor(d);
	return err ? err : f->SetTensorNdDescriptor(*d, type, n, dims, strides ? strides : dense);
}

int gcu_dnn_tensor_in(gcu_dnn *f, void **d, int type, int n, const int *dims, int last) {
	int strides[8], step = dims[1];
	if (!last) return gcu_dnn_tensor(f, d, type, n, dims, 0);
	for (int i = n - 1; i >= 0; i--) {
		if (i == 1) continue;
		strides[i] = step;
		step *= dims[i];
	}
	strides[1] = 1;
	return gcu_dnn_tensor(f, d, type, n, dims, strides);
}

void gcu_dnn_scales(int doubles, const void **one, const void **none) {
	static const float f1 = 1, f0 = 0;
	static const double d1 = 1, d0 = 0;
	*one = doubles ? (const void *)&d1 : &f1;
	*none = doubles ? (const void *)&d0 : &f0;
}
