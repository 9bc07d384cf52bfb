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
// The same with the transposition of matrices, one after the other; rows and columns are those of
// the input. A tile is held in double, which holds all numbers but integers beyond 53 bits.
struct TurnedCast {
	Ptr out, in;
	Int to, from, batch, rows, cols;
};
KERNEL(cast_turned, TurnedCast) {
	turn<double>(k.batch, k.rows, k.cols, [&](Int i) { return read(k.in, k.from, i); },
		[&](Int i, double v) { write(k.out, k.to, i, v); });
}

// Conversions between floating-point types of 32 and 16 bits, eight elements at a time where both
// addresses are multiples of 16 bytes. Their names hold the numbers of the types, from and to.
template <class E> struct alignas(16) Eight {
	E v[8];
};
template <class From, class To> __device__ inline void convert_run(To *out, const From *in, Int n,
	Int thread, Int threads) {
	Int packs = ((Int)in | (Int)out) % 16 ? (Int)0 : n / 8;
	for (Int p = thread; p < packs; p += threads) {
		const Eight<From> x = ((const Eight<From> *)in)[p];
		Eight<To> y;
#pragma unroll
		for (int j = 0; j < 8; j++) put(y.v, j, get(x.v, j));
		((Eight<To> *)out)[p] = y;
	}
	for (Int i = packs * 8 + thread; i < n; i += threads) put(out, i, get(in, i));
}
template <class From, class To> __device__ inline void convert(const Cast &k) {
	convert_run((To *)k.out, (const From *)k.in, k.n, THREAD, THREADS);
}
KERNEL(cast_1_3, Cast) { convert<float, half_t>(k); }
KERNEL(cast_1_13, Cast) { convert<float, bfloat_t>(k); }
KERNEL(cast_3_1, Cast) { convert<half_t, float>(k); }
KERNEL(cast_3_13, Cast) { convert<half_t, bfloat_t>(k); }
KERNEL(cast_13_1, Cast) { convert<bfloat_t, float>(k); }
KERNEL(cast_13_3, Cast) { convert<bfloat_t, half_t>(k); }
// The same from element first on for arrays of matrices that are transposed on the way: rows and cols
// are those of the input.
template <class From, class To> __device__ inline void convert_turned(To *out, const From *in,
	Int first, Int n, unsigned rows, unsigned cols) {
	unsigned area = rows * cols, begin = (unsigned)(first % area);
	Int base = first - begin; // of the matrix with the first element
	for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
		unsigned at = (begin + i) % area, col = at / rows, row = at % rows;
		put(out, first + i, get(in, base + (begin + i - at) + row * cols + col));
	}
}
// Conversions of many arrays: each block treats parts of CAST_SPAN elements, array i has the parts
// from first[i] on. Arrays with rows are transposed.
const int MANY_CASTS = 100;
const Int CAST_SPAN = 4096;
struct Casts {
	Int count, parts, first[MANY_CASTS + 1];
	struct {
		Ptr out, in;
		Int n;
		int rows, cols;
	} one[MANY_CASTS];
};
template <class From, class To> __device__ inline void convert_many(const Casts &k) {
	for (Int b = blockIdx.x; b < k.parts; b += gridDim.x) {
		int low = part_of(k.first, k.count, b);
		Int from = (b - k.first[low]) * CAST_SPAN, rest = k.one[low].n - from;
		Int n = rest < CAST_SPAN ? rest : CAST_SPAN;
		To *out = (To *)k.one[low].out;
		const From *in = (const From *)k.one[low].in;
		if (k.one[low].rows) convert_turned(out, in, from, n, k.one[low].rows, k.one[low].cols);
		else convert_run(out + from, in + from, n, (Int)threadIdx.x, (Int)blockDim.x);
	}
}
KERNEL(casts_1_3, Casts) { convert_many<float, half_t>(k); }
KERNEL(casts_1_13, Casts) { convert_many<float, bfloat_t>(k); }
KERNEL(casts_3_1, Casts) { convert_many<half_t, float>(k); }
KERNEL(casts_13_1, Casts) { convert_many<bfloat_t, float>(k); }

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
