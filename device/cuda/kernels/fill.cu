// Generated values, and conversions; element types are known at run time.

struct Fill {
	Ptr out;
	Int type, n;
	double start, step;
	Int repeat, cols, diagonal;
};

KERNEL(fill, Fill) {
	EACH(i, k.n) write(k.out, k.type, i, k.start);
}
// Fills arrays with zeros, one block per array.
struct Zeros {
	Int count;
	struct {
		uint8_t *p;
		Int bytes;
	} one[64];
};
KERNEL(zeros, Zeros) {
	for (Int a = blockIdx.x; a < k.count; a += gridDim.x) {
		uint8_t *p = k.one[a].p;
		Int n = k.one[a].bytes, words = (Int)p % 4 ? (Int)0 : n / 4;
		for (Int i = threadIdx.x; i < words; i += blockDim.x) ((uint32_t *)p)[i] = 0;
		for (Int i = words * 4 + threadIdx.x; i < n; i += blockDim.x) p[i] = 0;
	}
}
KERNEL(arange, Fill) {
	EACH(i, k.n) write(k.out, k.type, i, k.start + (double)(i / k.repeat) * k.step);
}
struct Linspace {
	Ptr out;
	Int type, n;
	double start, step;
};
KERNEL(linspace, Linspace) {
	EACH(i, k.n) write(k.out, k.type, i, k.start + (double)i * k.step);
}
KERNEL(eye, Fill) {
	EACH(i, k.n) write(k.out, k.type, i, i % k.cols - i / k.cols == k.diagonal);
}

struct Cast {
	Ptr out, in;
	Int to, from, n;
};
KERNEL(cast, Cast) {
	if (is_float(k.to) || is_float(k.from)) {
		EACH(i, k.n) write(k.out, k.to, i, read(k.in, k.from, i));
	} else {
		EACH(i, k.n) write_int(k.out, k.to, i, read_int(k.in, k.from, i));
	}
}
// Conversions between floating-point types of 32 and 16 bits, eight elements at a time where both
// addresses are multiples of 16 bytes. Their names hold the numbers of the types, from and to.
template <class E> struct alignas(16) Eight {
	E v[8];
};
template <class From, class To> __device__ inline void convert(const Cast &k) {
	const From *in = (const From *)k.in;
	To *out = (To *)k.out;
	Int packs = ((Int)in | (Int)out) % 16 ? (Int)0 : k.n / 8;
	EACH(p, packs) {
		const Eight<From> x = ((const Eight<From> *)in)[p];
		Eight<To> y;
#pragma unroll
		for (int j = 0; j < 8; j++) put(y.v, j, get(x.v, j));
		((Eight<To> *)out)[p] = y;
	}
	for (Int i = packs * 8 + THREAD; i < k.n; i += THREADS) put(out, i, get(in, i));
}
KERNEL(cast_1_3, Cast) { convert<float, half_t>(k); }
KERNEL(cast_1_13, Cast) { convert<float, bfloat_t>(k); }
KERNEL(cast_3_1, Cast) { convert<half_t, float>(k); }
KERNEL(cast_3_13, Cast) { convert<half_t, bfloat_t>(k); }
KERNEL(cast_13_1, Cast) { convert<bfloat_t, float>(k); }
KERNEL(cast_13_3, Cast) { convert<bfloat_t, half_t>(k); }

// Sets a number to zero if an element is infinite or NaN; all writing threads write the same value.
struct Finite {
	float *out;
	Ptr in;
	Int type, n;
};
KERNEL(finite, Finite) {
	EACH(i, k.n) {
		double v = read(k.in, k.type, i);
		if (!(v - v == 0)) *k.out = 0;
	}
}
