// Layers of integers of 8 bits (int8.h) for processors with AVX2, which multiply pairs of 16 bits
// and add them in 32: sums are exact. The data of a band of output rows become 16 bits wide, their
// channels last, with the zeros around them; tiles of pixels and outputs then read them in order,
// beside weights that are packed once.
#ifndef GX_BYTECONV_H
#define GX_BYTECONV_H

#include "int8.h"

// gx_byteconv_takes reports whether this processor computes a layer. The layout of an added array
// is that of the output.
int gx_byteconv_takes(const gx_int8 *c);

// gx_byteconv_packed is the size of packed weights in bytes.
int64_t gx_byteconv_packed(const gx_int8 *c);

// gx_byteconv_pack packs plain weights.
void gx_byteconv_pack(const gx_int8 *c, int8_t *packed, const int8_t *w, int threads);

// gx_byteconv_scratch is the size in bytes of the memory that a run wants.
int64_t gx_byteconv_scratch(const gx_int8 *c, int threads);

// gx_byteconv_run computes a layer. The added array may be y.
void gx_byteconv_run(const gx_int8 *c, void *y, const void *x, const int8_t *w, const float *scale,
	const float *offset, const void *sum, void *scratch, int threads);

#endif
