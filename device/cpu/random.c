#include "random.h"

#include "gx.h"

#include <math.h>

#pragma GCC optimize("fp-contract=off")

enum { BLOCKS = 32, WORDS = 4 * BLOCKS }; // blocks that are ciphered together

// words writes the words of BLOCKS blocks from block first on.
static inline __attribute__((always_inline)) void words(uint32_t *out, const gx_seed *seed, uint64_t first) {
	uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS];
	for (int i = 0; i < BLOCKS; i++) {
		uint64_t at = seed->counter + first + (uint64_t)i;
		c0[i] = (uint32_t)at, c1[i] = (uint32_t)(at >> 32), c2[i] = seed->stream, c3[i] = 0;
	}
	uint32_t k0 = (uint32_t)seed->key, k1 = (uint32_t)(seed->key >> 32);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			uint64_t p0 = 0xD2511F53ull * c0[i], p1 = 0xCD9E8D57ull * c2[i];
			c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
			c1[i] = (uint32_t)p1;
			c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
			c3[i] = (uint32_t)p0;
		}
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	for (int i = 0; i < BLOCKS; i++) out[4 * i] = c0[i], out[4 * i + 1] = c1[i], out[4 * i + 2] = c2[i], out[4 * i + 3] = c3[i];
}

typedef struct {
	float *d;
	uint8_t *mask;
	const float *x;
	gx_seed seed;
	int64_t n;
	double low, width;
	float limit, below, scale;
	uint32_t keep; // of 2^24
} job;

// Items are groups of WORDS elements.
GX_CLONES static void uniform(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t g = begin; g < end; g++) {
		uint32_t w[WORDS];
		float v[WORDS];
		words(w, &j->seed, (uint64_t)g * BLOCKS);
		for (int i = 0; i < WORDS; i++) {
			float f = (float)(j->low + j->width * ((double)(int32_t)(w[i] >> 8) / 16777216.0));
			v[i] = f >= j->limit ? j->below : f;
		}
		memcpy(j->d + g * WORDS, v, (size_t)gx_min(WORDS, j->n - g * WORDS) * sizeof(float));
	}
}

void gx_uniform(float *d, int64_t n, const gx_seed *seed, double low, double high, float limit, int threads) {
	job j = {.d = d, .seed = *seed, .n = n, .low = low, .width = high - low, .limit = limit, .below = nextafterf(limit, (float)low)};
	if (!(low < high)) j.limit = INFINITY;
	gx_parallel(threads, (n + WORDS - 1) / WORDS, 8, uniform, &j);
}

GX_CLONES static void dropout(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t g = begin; g < end; g++) {
		uint32_t w[WORDS];
		uint8_t kept[WORDS];
		int64_t at = g * WORDS, n = gx_min(WORDS, j->n - at);
		words(w, &j->seed, (uint64_t)g * BLOCKS);
		for (int i = 0; i < WORDS; i++) kept[i] = w[i] >> 8 < j->keep;
		if (j->mask) memcpy(j->mask + at, kept, (size_t)n);
		if (!j->d) continue;
		float *d = j->d + at;
		const float *x = j->x + at;
		GX_EACH(i, 0, n) {
			const float v = x[i] * j->scale;
			d[i] = w[i] >> 8 < j->keep ? v : 0.0f;
		}
	}
}

void gx_dropout(float *d, uint8_t *mask, const float *x, int64_t n, const gx_seed *seed, double keep, int threads) {
	job j = {.d = d, .mask = mask, .x = x, .seed = *seed, .n = n, .scale = (float)(1.0 / keep), .keep = (uint32_t)ceil(keep * 16777216.0)};
	gx_parallel(threads, (n + WORDS - 1) / WORDS, 8, dropout, &j);
}
