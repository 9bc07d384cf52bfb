// Random numbers by Philox 4x32-10: element i of a stream is word i % 4 of block counter + i / 4.
#ifndef GX_RANDOM_H
#define GX_RANDOM_H

#include <stdint.h>

typedef struct {
	uint64_t key, counter;
	uint32_t stream;
} gx_seed;

// gx_uniform writes low + (high - low) * u for u of [0, 1), never reaching limit.
void gx_uniform(float *d, int64_t n, const gx_seed *seed, double low, double high, float limit,
	int threads);

// gx_normal writes loc + scale * z for standard normal z, by the method of Box and Muller: words 0
// and 1 of a block make elements 0 and 1, words 2 and 3 make elements 2 and 3.
void gx_normal(float *d, int64_t n, const gx_seed *seed, double loc, double scale, int threads);

// gx_dropout keeps each element, scaled, with probability keep; mask and d may each be null.
void gx_dropout(float *d, uint8_t *mask, const float *x, int64_t n, const gx_seed *seed,
	double keep, int threads);

#endif
