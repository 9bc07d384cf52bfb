// Random words by Philox 4x32-10, many blocks at a time.
#ifndef GX_PHILOX_H
#define GX_PHILOX_H

#include "random.h"

enum { BLOCKS = 32, WORDS = 4 * BLOCKS }; // blocks that are ciphered together

// cipher writes the words of n blocks, at most BLOCKS, from block first on. n is a constant.
static inline __attribute__((always_inline)) void cipher(uint32_t *out, const gx_seed *seed,
	uint64_t first, const int n) {
	uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS];
	for (int i = 0; i < n; i++) {
		uint64_t at = seed->counter + first + (uint64_t)i;
		c0[i] = (uint32_t)at, c1[i] = (uint32_t)(at >> 32), c2[i] = seed->stream, c3[i] = 0;
	}
	uint32_t k0 = (uint32_t)seed->key, k1 = (uint32_t)(seed->key >> 32);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < n; i++) {
			uint64_t p0 = 0xD2511F53ull * c0[i], p1 = 0xCD9E8D57ull * c2[i];
			c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
			c1[i] = (uint32_t)p1;
			c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
			c3[i] = (uint32_t)p0;
		}
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	for (int i = 0; i < n; i++)
		out[4 * i] = c0[i], out[4 * i + 1] = c1[i], out[4 * i + 2] = c2[i], out[4 * i + 3] = c3[i];
}

// words writes the words of BLOCKS blocks from block first on.
static inline __attribute__((always_inline)) void words(uint32_t *out, const gx_seed *seed,
	uint64_t first) {
	cipher(out, seed, first, BLOCKS);
}

// block_words writes the words of one block.
static inline __attribute__((always_inline)) void block_words(uint32_t *out, const gx_seed *seed,
	uint64_t block) {
	cipher(out, seed, block, 1);
}

#endif
