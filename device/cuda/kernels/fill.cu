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
