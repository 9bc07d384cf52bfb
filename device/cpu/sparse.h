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

// gx_read_rows writes n indices as numbers of rows from 0 to rows-1 to d: fractions are cut off, and
// indices out of range become the nearest row. It returns GX_RISING if each number is larger than
// the one before, GX_SORTED if none is smaller, and GX_MIXED otherwise.
enum { GX_RISING, GX_SORTED, GX_MIXED };
int gx_read_rows(int64_t *d, const float *index, int64_t n, int64_t rows);

// gx_count_rows fills rows of n elements: every element of row g of d becomes starts[g+1] - starts[g].
void gx_count_rows(float *d, const int64_t *starts, int64_t groups, int64_t n, int threads);

// gx_gather_rows copies rows of n bytes: d[i] = s[at[i]], or zeros where at[i] is -1.
void gx_gather_rows(void *d, const void *s, const int64_t *at, int64_t rows, int64_t n,
	int threads);

// gx_add_rows adds rows of n elements: d[i] = a[ia[i]] + b[ib[i]]; a row that is missing, whose
// number is -1, adds nothing.
void gx_add_rows(float *d, const float *a, const int32_t *ia, const float *b, const int32_t *ib,
	int64_t rows, int64_t n, int threads);

// gx_columns is the transpose of a csr matrix: of row r, the elements starts[r] to starts[r+1]-1
// have the columns at, which ascend, and the values x. Parts of the columns are treated in parallel.
typedef struct {
	const int64_t *starts, *at;
	const float *x;
	int64_t rows, columns;
	int parts;
} gx_columns;

// gx_columns_memory returns the bytes of memory that the functions below need.
int64_t gx_columns_memory(int64_t rows, int64_t columns, int parts);

// gx_find_columns notes the columns with an element in memory and returns their number.
int64_t gx_find_columns(gx_columns c, void *memory);

// gx_sum_columns writes the columns with an element to keys, in ascending order, and sums to d: row
// i, or row keys[i] with placed, is the sum of the rows of s, each of n elements, that belong to the
// elements of column keys[i], times their values, in the order of the rows of the matrix. memory is
// as gx_find_columns has left it, and room has gx_columns_room(c, memory) bytes.
void gx_sum_columns(gx_columns c, void *memory, void *room, int64_t *keys, float *d, int placed,
	const float *s, int64_t n);
int64_t gx_columns_room(gx_columns c, const void *memory);

#endif
