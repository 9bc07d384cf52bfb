// Attention without the matrix of all weights.
#ifndef GX_ATTENTION_H
#define GX_ATTENTION_H

#include "random.h"

// gx_attention describes queries batch x n x groups*group x size, and keys and values batch x keys
// x groups x size. Query i of a sequence reads the keys before length, and with causal those before
// position + i + 1. lengths and positions have a number for each sequence, and may be null.
//
// The mask of floats is added to the scores, or bytes tell which keys are read; its strides by
// sequence, head, query and key are 0 where it broadcasts. Each weight has a random number from 0
// to 2^24 - 1, the number of its place in an array batch x heads x n x keys: weights with numbers
// below keep are multiplied by kept, the others are dropped. With narrow, queries, keys, values,
// weighted sums and their gradients are bfloat16.
typedef struct {
	int64_t batch, n, keys, groups, group, size;
	const int32_t *lengths, *positions;
	const float *mask;
	const uint8_t *may;
	int64_t strides[4];
	gx_seed seed;
	float scale, kept;
	uint32_t keep;
	int32_t causal, drops, narrow;
} gx_attention;

// gx_attention_scratch is the number of floats of scratch memory that gx_attention_forward needs, or
// gx_attention_grad if grads is set.
int64_t gx_attention_scratch(const gx_attention *p, int grads, int threads);

// gx_attention_forward writes the weighted sums of values and, where lse is not null, the logarithm
// of each query's sum of exponents, batch x heads x n.
void gx_attention_forward(void *y, float *lse, const void *q, const void *k, const void *v,
	const gx_attention *p, float *scratch, int threads);

typedef struct {
	void *dq, *dk, *dv; // all of them are written
	float *dmask;        // of the mask's shape, from extents masks on; null: not wanted
	int64_t masks[4];    // extents of the mask by sequence, head, query and key
	const void *dy, *q, *k, *v, *y;
	const float *lse;
} gx_attention_grads;

void gx_attention_grad(const gx_attention_grads *g, const gx_attention *p, float *scratch,
	int threads);

#endif
