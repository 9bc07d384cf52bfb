// Arrays of bfloat16 numbers in kernels that compute in float32.
#ifndef GX_NARROW_H
#define GX_NARROW_H

#include "gxmath.h"

// Blocks on the calling thread: gx_bf16_widen reads n numbers, gx_bf16_narrow writes them rounded to
// even, and gx_bf16_round rounds in place.
void gx_bf16_widen(float *d, const uint16_t *s, int64_t n);
void gx_bf16_narrow(uint16_t *d, const float *s, int64_t n);
void gx_bf16_round(float *d, int64_t n);

// gx_bf16_sum_rows writes the sums of the columns of rows x cols numbers.
void gx_bf16_sum_rows(uint16_t *d, const uint16_t *s, int64_t rows, int64_t cols, int threads);

typedef uint16_t gx_h16 __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint32_t gx_w16 __attribute__((vector_size(64)));

// gx_get16 reads sixteen numbers of an array of floats, or of bfloat16 numbers if narrow is set,
// from number i on. It is inlined with a constant.
static inline __attribute__((always_inline)) gx_v16 gx_get16(const void *x, int64_t i, int narrow) {
	if (!narrow) return GX_AT((const float *)x + i);
	gx_h16 h = *(const gx_h16 *)((const uint16_t *)x + i);
	return (gx_v16)(__builtin_convertvector(h, gx_w16) << 16);
}

// gx_put16 writes them, rounded to even if narrow is set.
static inline __attribute__((always_inline)) void gx_put16(void *x, int64_t i, gx_v16 v, int narrow) {
	if (!narrow) {
		GX_AT((float *)x + i) = v;
		return;
	}
	gx_w16 b = (gx_w16)v, bad = (gx_w16)(v != v);
	gx_w16 r = (b + 0x7fff + (b >> 16 & 1)) >> 16;
	r = (bad & (b >> 16 | 0x40)) | (~bad & r);
	*(gx_h16 *)((uint16_t *)x + i) = __builtin_convertvector(r, gx_h16);
}

// gx_from returns the address of number i.
static inline const void *gx_from(const void *x, int64_t i, int narrow) {
	return (const char *)x + i * (narrow ? 2 : 4);
}

#endif
