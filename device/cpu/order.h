// Orders of vectors: sorting and selection of the first elements.
#ifndef GX_ORDER_H
#define GX_ORDER_H

#include <stdint.h>

// gx_order selects the first k in the order of vectors of n elements, inner apart: an array is
// (outer, n, inner), outputs are (outer, k, inner). Equal elements keep their order, NaN is above
// all. Outputs may be null.
typedef struct {
	int64_t outer, n, inner, k;
	int32_t descend;
	int32_t ints; // indices are int32, otherwise float32
} gx_order_spec;

// gx_order_scratch returns the bytes of scratch memory that gx_order needs.
int64_t gx_order_scratch(const gx_order_spec *p, int threads);

// gx_order writes the selected elements, their indices, and ones in their places, which must be
// zero before.
void gx_order(float *values, void *indices, float *mask, const float *x, const gx_order_spec *p,
	void *scratch, int threads);

#endif
