// Products of bfloat16 matrices with sums in float32, as programs of oneDNN.
#ifndef GX_MATMUL_H
#define GX_MATMUL_H

#include "prog.h"

// gx_grid places the matrices of an operand. The distances count elements: between rows, columns,
// matrices of one batch, and batches.
typedef struct {
	int64_t row, col, inner, outer;
} gx_grid;

// gx_matmul describes C = alpha * A * B + beta * C + bias for outer * inner matrices C of m x n and
// A of m x k. A and B are bfloat16; out is the type of C and of the bias, a row that is there if
// bias is set.
typedef struct {
	int64_t m, n, k, inner, outer;
	gx_grid a, b, c;
	float alpha, beta;
	int32_t bias, relu, out; // relu: cut off negative values at last
} gx_matmul;

// Pointers of a run: a, b, bias, c.
int gx_matmul_program(gx_prog **p, const gx_matmul *g, int threads);

#endif
