// Attention without the matrix of all weights.
#ifndef GX_ATTENTION_H
#define GX_ATTENTION_H

#include <stdint.h>

// gx_attention describes queries batch x n x groups*group x size, and keys and values batch x keys
// x groups x size. Query i of a sequence reads the keys before length, and with causal those before
// position + i + 1. lengths and positions have a number for each sequence, and may be null.
typedef struct {
	int64_t batch, n, keys, groups, group, size;
	const int32_t *lengths, *positions;
	float scale;
	int32_t causal;
} gx_attention;

// gx_attention_scratch is the number of floats of scratch memory for one thread.
int64_t gx_attention_scratch(const gx_attention *p);

// gx_attention_forward writes the weighted sums of values and, where lse is not null, the logarithm
// of each query's sum of exponents, batch x heads x n.
void gx_attention_forward(float *y, float *lse, const float *q, const float *k, const float *v,
	const gx_attention *p, float *scratch, int threads);

typedef struct {
	float *dq, *dk, *dv; // all of them are written
	const float *dy, *q, *k, *v, *y, *lse;
} gx_attention_grads;

void gx_attention_grad(const gx_attention_grads *g, const gx_attention *p, float *scratch,
	int threads);

#endif
