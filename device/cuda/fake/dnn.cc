// Handles and descriptors of arrays of the imitated cuDNN. See dnn.h.

#include "dnn.h"

extern "C" {

size_t cudnnGetVersion() { return 90000; }
const char *cudnnGetErrorString(int code) {
	return code == bad_param ? "CUDNN_STATUS_BAD_PARAM" : code == not_supported
		? "CUDNN_STATUS_NOT_SUPPORTED" : "an error";
}
int cudnnCreate(void **h) {
	if (!open_driver()) return not_initialized;
	*h = new Handle{nullptr};
	return ok;
}
int cudnnSetStream(void *h, void *stream) {
	((Handle *)h)->stream = stream;
	return ok;
}
int cudnnCreateTensorDescriptor(void **d) {
	*d = new Array;
	return ok;
}
int cudnnSetTensorNdDescriptor(void *d, int type, int n, const int *dims, const int *strides) {
	Array *a = (Array *)d;
	if (n < 3 || n > 2 + axes) return bad_param;
	long total = 1;
	for (int i = n - 1; i >= 0; i--) {
		if (dims[i] < 1 || strides[i] < 1) return bad_param;
		a->dims[i] = dims[i], a->strides[i] = strides[i];
		total *= dims[i];
	}
	a->type = type, a->n = n;
	a->order();
	return total > INT32_MAX ? not_supported : ok;
}
int cudnnDestroyTensorDescriptor(void *d) {
	delete (Array *)d;
	return ok;
}

} // extern "C"
