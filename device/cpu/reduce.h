// Reductions of one axis in the middle: (outer, n, inner) to (outer, inner).
#ifndef GX_REDUCE_H
#define GX_REDUCE_H

#include <stdint.h>

enum { GX_SUM, GX_SUM_SQUARE, GX_PROD, GX_REDUCE_MAX, GX_REDUCE_MIN, GX_NUM_REDUCTIONS };

// gx_reduce_scratch returns the bytes of working space that gx_reduce needs.
int64_t gx_reduce_scratch(int64_t outer, int64_t n, int64_t inner);

// gx_reduce writes scale * reduction. The axis is cut into pieces by the shape alone, each summed in a fixed order, so
// that results do not depend on threads. n = 0 gives the neutral element.
void gx_reduce(int op, float *d, const float *a, int64_t outer, int64_t n, int64_t inner, float scale, int threads, float *scratch);

// gx_arg writes the index of the first maximum (sign 1) or minimum (sign -1) along the axis; NaN counts as the extreme.
void gx_arg(float *d, const float *a, int64_t outer, int64_t n, int64_t inner, int sign, int threads);

#endif
