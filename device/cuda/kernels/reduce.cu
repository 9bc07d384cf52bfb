// Reductions over some axes: output o is the fold of the elements at kept(o) + reduced(r). Long
// reductions are cut into chunks, whose number depends on the shape alone, and the chunks' results
// are folded in order: results repeat bit for bit.

struct Reduce {
	T *out;
	const T *in;
	A *part; // [outs][chunks]
	Int outs, size, chunks;
	double scale; // factor of the result
	Int nk, dk[AXES], sk[AXES], nr, dr[AXES], sr[AXES];
};

const int COLUMNS = 32; // outputs of a block that reads rows of neighbours

template <class F> __device__ inline void finish(const Reduce &k, Int o, A v) {
	if (GX_FLOATS) v *= (A)k.scale;
	put(k.out, o, v);
}

#define REDUCE(name, Fold, init, value) \
	KERNEL(name##_thread, Reduce) { /* one thread per output */ \
		EACH(o, k.outs) { \
			const T *p = k.in + at(o, k.nk, k.dk, k.sk); \
			A v = (A)(init); \
			Fold fold; \
			for (Int r = 0; r < k.size; r++) { \
				A x = get(p, at(r, k.nr, k.dr, k.sr)); \
				v = fold(v, (A)(value)); \
			} \
			finish<Fold>(k, o, v); \
		} \
	} \
	KERNEL(name##_block, Reduce) { /* one block per output and chunk */ \
		Int chunk = (k.size + k.chunks - 1) / k.chunks; \
		for (Int b = blockIdx.x; b < k.outs * k.chunks; b += gridDim.x) { \
			Int o = b / k.chunks, from = b % k.chunks * chunk, to = from + chunk < k.size ? from + chunk : k.size; \
			const T *p = k.in + at(o, k.nk, k.dk, k.sk); \
			A v = (A)(init); \
			Fold fold; \
			for (Int r = from + threadIdx.x; r < to; r += blockDim.x) { \
				A x = get(p, at(r, k.nr, k.dr, k.sr)); \
				v = fold(v, (A)(value)); \
			} \
			v = together<Fold>(v); \
			if (threadIdx.x == 0) { \
				if (k.chunks == 1) finish<Fold>(k, o, v); \
				else k.part[b] = v; \
			} \
		} \
	} \
	KERNEL(name##_columns, Reduce) { /* COLUMNS adjacent outputs and a chunk per block */ \
		__shared__ A buf[BLOCK]; \
		Int chunk = (k.size + k.chunks - 1) / k.chunks, tiles = (k.outs + COLUMNS - 1) / COLUMNS; \
		int x = threadIdx.x % COLUMNS, y = threadIdx.x / COLUMNS, rows = blockDim.x / COLUMNS; \
		for (Int b = blockIdx.x; b < tiles * k.chunks; b += gridDim.x) { \
			Int o = b / k.chunks * COLUMNS + x, from = b % k.chunks * chunk, to = from + chunk < k.size ? from + chunk : k.size; \
			A v = (A)(init); \
			Fold fold; \
			if (o < k.outs) { \
				const T *p = k.in + at(o, k.nk, k.dk, k.sk); \
				for (Int r = from + y; r < to; r += rows) { \
					A x = get(p, at(r, k.nr, k.dr, k.sr)); \
					v = fold(v, (A)(value)); \
				} \
			} \
			__syncthreads(); \
			buf[threadIdx.x] = v; \
			__syncthreads(); \
			if (y == 0 && o < k.outs) { \
				for (int j = 1; j < rows; j++) v = fold(v, buf[j * COLUMNS + x]); \
				if (k.chunks == 1) finish<Fold>(k, o, v); \
				else k.part[o * k.chunks + b % k.chunks] = v; \
			} \
		} \
	} \
	KERNEL(name##_join, Reduce) { /* folds the results of chunks */ \
		for (Int o = blockIdx.x; o < k.outs; o += gridDim.x) { \
			A v = (A)(init); \
			Fold fold; \
			for (Int c = threadIdx.x; c < k.chunks; c += blockDim.x) v = fold(v, k.part[o * k.chunks + c]); \
			v = together<Fold>(v); \
			if (threadIdx.x == 0) finish<Fold>(k, o, v); \
		} \
	}

REDUCE(sum, Add, 0, x)
REDUCE(prod, Times, 1, x)
#if GX_FLOATS
REDUCE(max, Most, -INFINITY, x)
REDUCE(min, Least, INFINITY, x)
REDUCE(nansum, Add, 0, isnan(x) ? (A)0 : x)
REDUCE(nanprod, Times, 1, isnan(x) ? (A)1 : x)
REDUCE(sumabs, Add, 0, x < 0 ? -x : x)
REDUCE(sumsq, Add, 0, x * x)
#else
REDUCE(max, Most, (Int)0x8000000000000000ull, x)
REDUCE(min, Least, (Int)0x7fffffffffffffffull, x)
#endif

#if GX_FLOATS
// The index of the largest or smallest element along an axis, the first of equal ones; NaN wins
// over all numbers.
struct Arg {
	Ptr out;
	const T *in;
	Int type, outer, n, inner;
};
template <bool largest> __device__ inline void arg(const Arg &k) {
	EACH(o, k.outer * k.inner) {
		const T *p = k.in + o / k.inner * k.n * k.inner + o % k.inner;
		Int best = 0;
		A top = get(p, 0);
		for (Int i = 1; i < k.n; i++) {
			A x = get(p, i * k.inner);
			bool better = largest ? x > top : x < top;
			if (better || (isnan(x) && !isnan(top))) best = i, top = x;
		}
		write_int(k.out, k.type, o, best);
	}
}
KERNEL(argmax, Arg) { arg<true>(k); }
KERNEL(argmin, Arg) { arg<false>(k); }
#endif
