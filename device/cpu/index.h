// Kernels that look elements up by index. Indices are float32 and are cut off to integers.
#ifndef GX_INDEX_H
#define GX_INDEX_H

#include <stdint.h>

enum { GX_CLIP, GX_WRAP }; // treatment of an index outside [0, rows): nearest row, remainder

// gx_lookup copies rows of width elements: d[i] = w[index[i]] for n indices.
void gx_lookup(float *d, const float *w, const float *index, int64_t n, int64_t rows, int64_t width,
	int mode, int threads);

// gx_take is gx_lookup in each of outer tables, one after the other.
void gx_take(float *d, const float *s, const float *index, int64_t outer, int64_t n, int64_t rows,
	int64_t width, int mode, int threads);

// gx_lookup_add clears d of rows rows and adds s[i] to row index[i], in the order of i.
void gx_lookup_add(float *d, const float *s, const float *index, int64_t n, int64_t rows,
	int64_t width, int mode, int threads);

// gx_one_hot writes n rows of depth elements: on at the index, off elsewhere.
void gx_one_hot(float *d, const float *index, int64_t n, int64_t depth, float on, float off,
	int threads);

// gx_mask writes x*scale where mask is not zero, 0 elsewhere.
void gx_mask(float *d, const float *x, const uint8_t *mask, int64_t n, float scale, int threads);

#endif
