// Kernels that move elements without looking at them, and conversions.
#ifndef GX_MOVE_H
#define GX_MOVE_H

#include "elem.h"

#include <stdint.h>

// gx_view describes a strided view of elements of size bytes: extents and distances in elements,
// which may be 0 (repeat) or negative (reverse). n is at least 1.
typedef struct {
	int64_t n, size; // size is 1, 2, 4 or 8
	int64_t dims[GX_MAX_DIMS], stride[GX_MAX_DIMS];
} gx_view;

// gx_gather_view writes the view of s densely to d: transpose, slice, reverse, broadcast.
void gx_gather_view(void *d, const void *s, const gx_view *v, int threads);

// gx_copy_rows copies rows of bytes bytes between places with the given distances.
void gx_copy_rows(void *d, int64_t dpitch, const void *s, int64_t spitch, int64_t bytes,
	int64_t rows, int threads);

// gx_cast converts between element types. Conversions to integers cut off the fraction.
void gx_cast(void *d, int dtype, const void *s, int stype, int64_t n, int threads);
void gx_from_half(float *d, const uint16_t *s, int64_t n, int threads);
void gx_to_half(uint16_t *d, const float *s, int64_t n, int threads);
void gx_from_bf16(float *d, const uint16_t *s, int64_t n, int threads);
void gx_to_bf16(uint16_t *d, const float *s, int64_t n, int threads);

#endif
