// Kernels of sparse operands: rows of tables that lists of numbers name.
#ifndef GX_SPARSE_H
#define GX_SPARSE_H

#include <stdint.h>

// gx_sum_rows writes sums of rows of n elements: row to[g], or row g where to is null, of d is the
// sum of the items starts[g] to starts[g+1]-1, in their order. Item i is order[i], or i where order
// is null; item k is row at[k] of s, or row k where at is null, times factor[k], or times one where
// factor is null. Without items it is zero.
void gx_sum_rows(float *d, const int64_t *to, const int64_t *starts, const int32_t *order,
	const int64_t *at, const float *factor, const float *s, int64_t groups, int64_t n, int threads);

// gx_gather_rows copies rows of n bytes: d[i] = s[at[i]], or zeros where at[i] is -1.
void gx_gather_rows(void *d, const void *s, const int64_t *at, int64_t rows, int64_t n,
	int threads);

// gx_add_rows adds rows of n elements: d[i] = a[ia[i]] + b[ib[i]]; a row that is missing, whose
// number is -1, adds nothing.
void gx_add_rows(float *d, const float *a, const int32_t *ia, const float *b, const int32_t *ib,
	int64_t rows, int64_t n, int threads);

#endif
