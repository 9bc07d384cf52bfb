// Dense layers whose weights are integers of 8 or 4 bits with a scale for each group of columns.
#ifndef GX_WEIGHTONLY_H
#define GX_WEIGHTONLY_H

#include <stdint.h>

// gx_weightonly describes a layer: x (rows, columns), y (rows, outputs). With 8 bits codes are int8
// (outputs, columns); with 4 bits they are bytes (outputs, columns / 2), of which every 16 hold 32
// columns: column i in the low bits of byte i, column i + 16 in its high bits. The group is a
// divisor of columns; scale is (outputs, columns / group).
typedef struct {
	int64_t rows, columns, outputs, group;
	int32_t bits;
} gx_weightonly;

// gx_weightonly_run computes the layer, weights read as integers. bias may be null.
void gx_weightonly_run(const gx_weightonly *w, float *y, const float *x, const void *codes,
	const float *scale, const float *bias, int threads);

// gx_weightonly_expand makes the weights of outputs [from, to) real numbers, (to - from, columns).
void gx_weightonly_expand(const gx_weightonly *w, float *d, const void *codes, const float *scale,
	int64_t from, int64_t to, int threads);

// gx_weightonly_bias adds a bias to every row of y.
void gx_weightonly_bias(const gx_weightonly *w, float *y, const float *bias, int threads);

#endif
