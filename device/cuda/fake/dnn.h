// Declarations of the imitated cuDNN: libcudnn.so.9 for tests, with the functions that the bridge
// calls. It computes with plain loops in double and checks that descriptors, modes and memory fit
// together, as cuDNN requires.

#pragma once
#include "library.h"

#include <stdlib.h>

#include <initializer_list>

namespace {

enum { ok = 0, bad_param = 2000, not_supported = 3000, not_initialized = 1001 };
enum { misaligned = 5002 }; // an execution that failed
enum { axes = 3 };

// odd reports whether an operand does not begin at a multiple of 16 bytes, where kernels that read
// 16 bytes at once fail.
inline bool odd(std::initializer_list<const void *> operands) {
	uintptr_t bits = 0;
	for (const void *p : operands) bits |= (uintptr_t)p;
	return bits % 16;
}

struct Handle {
	void *stream;
};
struct Array { // tensor or filter
	int type = -1, n = 0, dims[2 + axes], strides[2 + axes];
	bool filter = false;
	// Without gaps: in row-major order, and with the channels last. Both hold where one of the two
	// has nothing to order.
	bool dense = true, last = false;
	// order finds dense and last from the extents and strides, or sets dense strides of an order.
	void order() {
		dense = last = true;
		long step = 1, each = n > 1 ? dims[1] : 1;
		for (int i = n - 1; i >= 0; i--) {
			if (dims[i] > 1 && strides[i] != step) dense = false;
			if (dims[i] > 1 && strides[i] != (i == 1 ? 1 : each)) last = false;
			step *= dims[i];
			if (i != 1) each *= dims[i];
		}
	}
	void pack(bool channels_last) {
		int step = channels_last ? dims[1] : 1;
		for (int i = n - 1; i >= 0; i--) {
			if (channels_last && i == 1) continue;
			strides[i] = step, step *= dims[i];
		}
		if (channels_last) strides[1] = 1;
		order();
	}
	long size() const {
		long total = 1;
		for (int i = 0; i < n; i++) total *= dims[i];
		return total;
	}
	bool like(const Array *b) const {
		bool same = type == b->type && n == b->n;
		for (int i = 0; i < n && same; i++) same = dims[i] == b->dims[i];
		same = same && dense == b->dense && last == b->last;
		return same;
	}
};

// scale reads the factor of results, which has the arithmetic type of the array's type.
inline double scale(const void *p, int type) {
	return type == 1 ? *(const double *)p : *(const float *)p;
}

// result stores alpha·v plus beta times the old value in element i of an array.
inline void result(void *to, int type, long i, double v, double alpha, double beta) {
	store(to, type, i, alpha * v + (beta != 0 ? beta * load(to, type, i) : 0));
}

} // namespace
