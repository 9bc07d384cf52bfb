// Philox 4x32-10 (Salmon et al. 2011), the same stream as on the processor: element i is word i%4 of block i/4.

__device__ inline void philox(uint64_t key, uint64_t counter, uint32_t stream, uint64_t n, uint32_t *out) {
	uint64_t at = counter + n;
	uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32), c2 = stream, c3 = 0, k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	for (int r = 0; r < 10; r++) {
		uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
		uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}
__device__ inline double unit(uint32_t word) { return (double)(word >> 8) / 16777216.0; }

struct Dropout {
	T *out;
	uint8_t *mask;
	const T *in;
	Int n;
	uint64_t key, counter;
	double keep;
};
KERNEL(dropout, Dropout) {
	A scale = (A)(1 / k.keep);
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, k.counter, 0, b, word);
		for (int j = 0; j < 4; j++) {
			Int i = 4 * b + j;
			if (i >= k.n) break;
			bool kept = unit(word[j]) < k.keep;
			if (k.mask) k.mask[i] = kept;
			if (k.out) put(k.out, i, kept ? get(k.in, i) * scale : (A)0);
		}
	}
}
KERNEL(dropout_grad, Dropout) { /* keep holds the scale */
	EACH(i, k.n) put(k.out, i, k.mask[i] ? get(k.in, i) * (A)k.keep : (A)0);
}

struct Uniform {
	Ptr out;
	Int type, n;
	uint64_t key, counter;
	double low, span;
};
KERNEL(uniform, Uniform) {
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, k.counter, 0, b, word);
		for (int j = 0; j < 4; j++)
			if (4 * b + j < k.n) write(k.out, k.type, 4 * b + j, k.low + k.span * unit(word[j]));
	}
}

// Standard normal numbers by the method of Box and Muller: words 0 and 1 of a block make elements 0 and 1, words 2 and 3 make elements 2 and 3.
KERNEL(normal, Uniform) {
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, k.counter, 0, b, word);
		for (int j = 0; j < 4; j += 2) {
			double radius = sqrt(-2 * log(((double)word[j] + 1) / 4294967296.0)), angle = 6.28318530717958647693 * (double)word[j + 1] / 4294967296.0;
			if (4 * b + j < k.n) write(k.out, k.type, 4 * b + j, k.low + k.span * radius * cos(angle));
			if (4 * b + j + 1 < k.n) write(k.out, k.type, 4 * b + j + 1, k.low + k.span * radius * sin(angle));
		}
	}
}
