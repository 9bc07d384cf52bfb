// Kernels that look elements up by index. Floating-point indices are cut off to integers.
#ifndef GX_INDEX_H
#define GX_INDEX_H

#include "elem.h"

#include <stdint.h>

enum { GX_NEAREST, GX_WRAP }; // treatment of an index outside [0, rows): nearest row, remainder

// gx_indices describes n indices of an element type, into rows rows.
typedef struct {
	int type;
	int64_t n, rows;
	int mode;
} gx_indices;

// gx_take copies rows of width elements of size bytes from each of outer tables, one after the
// other: row i is row index[i] of the table. from has room for n numbers.
void gx_take(void *d, const void *s, const void *index, const gx_indices *what, int64_t *from,
	int64_t outer, int64_t width, int64_t size, int threads);

// gx_lookup_add clears d of rows rows and adds s[i] to row index[i], in the order of i.
void gx_lookup_add(float *d, const float *s, const void *index, const gx_indices *what,
	int64_t width, int threads);

// gx_one_hot writes n rows of depth elements: on at the index, off elsewhere.
void gx_one_hot(float *d, const float *index, int64_t n, int64_t depth, float on, float off,
	int threads);

// gx_mask writes x*scale where mask is not zero, 0 elsewhere.
void gx_mask(float *d, const float *x, const uint8_t *mask, int64_t n, float scale, int threads);

#endif
