// Uniform and normal random numbers and dropout masks, from streams of random words.

struct Dropout {
	T *out;
	uint8_t *mask;
	const T *in;
	Int n;
	uint64_t key, counter;
	double keep;
	const uint64_t *base; // a number that is added to the counter; 0: none
};

// from returns the counter of a kernel whose base a recording may have in memory.
template <class K> __device__ inline uint64_t from(const K &k) { return k.counter + (k.base ? *k.base : 0); }

KERNEL(dropout, Dropout) {
	A scale = (A)(1 / k.keep);
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, from(k), 0, b, word);
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

// A mask with one element for several elements of the data.
struct Masked {
	T *out;
	const uint8_t *mask;
	const T *in;
	Int n, nd, dim[AXES], sm[AXES];
	double scale;
};
KERNEL(masked, Masked) {
	EACH(i, k.n) put(k.out, i, k.mask[at(i, k.nd, k.dim, k.sm)] ? get(k.in, i) * (A)k.scale : (A)0);
}

struct Uniform {
	Ptr out;
	Int type, n;
	uint64_t key, counter;
	double low, span;
	const uint64_t *base;
};
KERNEL(uniform, Uniform) {
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, from(k), 0, b, word);
		for (int j = 0; j < 4; j++)
			if (4 * b + j < k.n) write(k.out, k.type, 4 * b + j, k.low + k.span * unit(word[j]));
	}
}

// Standard normal numbers by the method of Box and Muller: words 0 and 1 of a block make elements 0
// and 1, words 2 and 3 make elements 2 and 3.
KERNEL(normal, Uniform) {
	EACH(b, (k.n + 3) / 4) {
		uint32_t word[4];
		philox(k.key, from(k), 0, b, word);
		for (int j = 0; j < 4; j += 2) {
			double radius = sqrt(-2 * log(((double)word[j] + 1) / 4294967296.0)),
				angle = 6.28318530717958647693 * (double)word[j + 1] / 4294967296.0;
			if (4 * b + j < k.n)
				write(k.out, k.type, 4 * b + j, k.low + k.span * radius * cos(angle));
			if (4 * b + j + 1 < k.n)
				write(k.out, k.type, 4 * b + j + 1, k.low + k.span * radius * sin(angle));
		}
	}
}

// The base of the counters of a recording.
struct Base {
	uint64_t *to, value;
};
KERNEL(base, Base) {
	if (threadIdx.x == 0) *k.to = k.value;
}
