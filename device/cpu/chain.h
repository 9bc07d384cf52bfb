// Chains of elementwise kernels: one pass over memory for many functions.
#ifndef GX_CHAIN_H
#define GX_CHAIN_H

#include <stdint.h>

enum { GX_CHAIN_IN = 16, GX_CHAIN_OUT = 8, GX_CHAIN_STEPS = 64, GX_CHAIN_TEMPS = 32 };

// gx_link computes value d from values a and b (a alone when zip is 0). Values are numbered:
// inputs, outputs, temporaries.
typedef struct {
	int32_t zip, op, d, a, b;
	int32_t round; // later steps read the result, which is rounded if the arrays are bfloat16
	float s, t;
} gx_link;

// gx_chain is a program over blocks of n elements. Input i, whose size differs from the output's,
// has at element e of the output its element (e / repeat[i]) % size[i]; size 0 says that it has the
// output's size. last[i] is the last step that reads input i, first[k] the first one that writes
// output k.
typedef struct {
	int32_t in, out, temps, steps;
	int32_t narrow; // all inputs and outputs are bfloat16; between them are floats
	int64_t repeat[GX_CHAIN_IN], size[GX_CHAIN_IN];
	int32_t last[GX_CHAIN_IN], first[GX_CHAIN_OUT];
	gx_link step[GX_CHAIN_STEPS];
} gx_chain;

void gx_chain_run(const gx_chain *c, const uintptr_t *in, const uintptr_t *out, int64_t n,
	int threads);

#endif
