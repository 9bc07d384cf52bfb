// Elements chosen by indices, whose element type is known at run time. Indices out of range are
// clipped, or taken modulo the extent.

__device__ inline Int legal(Int i, Int n, Int wrap) {
	if (wrap) {
		i %= n;
		return i < 0 ? i + n : i;
	}
	return i < 0 ? 0 : i < n ? i : n - 1;
}

// Runs of n elements: run (o, j) of the output is run (o, index j) of the source, which has extent
// runs per o.
struct Take {
	Ptr out, src, index;
	Int type, outer, extent, count, n, wrap;
};
template <class E> __device__ inline void take(const Take &k) {
	EACH(i, k.outer * k.count * k.n) {
		Int e = i % k.n, j = i / k.n % k.count, o = i / k.n / k.count;
		((E *)k.out)[i] = ((E *)k.src)[(o * k.extent +
			legal(read_int(k.index, k.type, j), k.extent, k.wrap)) * k.n + e];
	}
}
KERNEL(take1, Take) { take<uint8_t>(k); }
KERNEL(take2, Take) { take<uint16_t>(k); }
KERNEL(take4, Take) { take<uint32_t>(k); }
KERNEL(take8, Take) { take<uint64_t>(k); }

// One element of each lane of [outer][extent][n], at the lane's index.
template <class E> __device__ inline void pick(const Take &k) {
	EACH(i, k.outer * k.n) {
		Int at = legal(read_int(k.index, k.type, i), k.extent, k.wrap);
		((E *)k.out)[i] = ((E *)k.src)[(i / k.n * k.extent + at) * k.n + i % k.n];
	}
}
KERNEL(pick1, Take) { pick<uint8_t>(k); }
KERNEL(pick2, Take) { pick<uint16_t>(k); }
KERNEL(pick4, Take) { pick<uint32_t>(k); }
KERNEL(pick8, Take) { pick<uint64_t>(k); }

// The gradient of pick: out is zero at other positions.
template <class E> __device__ inline void place(const Take &k) {
	EACH(i, k.outer * k.n) {
		Int at = legal(read_int(k.index, k.type, i), k.extent, k.wrap);
		((E *)k.out)[(i / k.n * k.extent + at) * k.n + i % k.n] = ((E *)k.src)[i];
	}
}
KERNEL(place1, Take) { place<uint8_t>(k); }
KERNEL(place2, Take) { place<uint16_t>(k); }
KERNEL(place4, Take) { place<uint32_t>(k); }
KERNEL(place8, Take) { place<uint64_t>(k); }

struct OneHot {
	Ptr out, index;
	Int to, type, n, depth;
	double on, off;
};
KERNEL(one_hot, OneHot) {
	EACH(i, k.n * k.depth) write(k.out, k.to, i,
		read_int(k.index, k.type, i / k.depth) == i % k.depth ? k.on : k.off);
}

// Steps of sequences: [steps][batch][size], or [batch][steps][size] with axis 1. length may be
// zero: all steps count.
struct Sequence {
	Ptr out, in, length;
	Int type, axis, steps, batch, size, to;
	double value;
};
__device__ inline Int seq_end(const Sequence &k, Int seq, Int least) {
	if (!k.length) return k.steps;
	Int n = read_int(k.length, k.type, seq);
	return n < least ? least : n < k.steps ? n : k.steps;
}
__device__ inline Int seq_at(const Sequence &k, Int seq,
	Int step) { return (k.axis ? seq * k.steps + step : step * k.batch + seq) * k.size; }

KERNEL(seq_mask, Sequence) { /* fills what follows the end; out holds the data already */
	EACH(i, k.steps * k.batch * k.size) {
		Int e = i % k.size, seq = i / k.size % k.batch, step = i / k.size / k.batch;
		if (step >= seq_end(k, seq, 0)) write(k.out, k.to, seq_at(k, seq, step) + e, k.value);
	}
}
template <class E> __device__ inline void seq_reverse(const Sequence &k) {
	EACH(i, k.steps * k.batch * k.size) {
		Int e = i % k.size, seq = i / k.size % k.batch, step = i / k.size / k.batch,
			end = seq_end(k, seq, 0);
		((E *)k.out)[seq_at(k, seq, step) + e] =
			((E *)k.in)[seq_at(k, seq, step < end ? end - 1 - step : step) + e];
	}
}
template <class E> __device__ inline void seq_last(const Sequence &k) {
	EACH(i, k.batch * k.size) ((E *)k.out)[i] =
		((E *)k.in)[seq_at(k, i / k.size, seq_end(k, i / k.size, 1) - 1) + i % k.size];
}
template <class E> __device__ inline void seq_last_grad(const Sequence &k) { /* out is zero elsewhere */
	EACH(i, k.batch * k.size) ((E *)k.out)[seq_at(k, i / k.size, seq_end(k, i / k.size, 1) - 1) +
		i % k.size] = ((E *)k.in)[i];
}
#define SIZES(name, Args) \
	KERNEL(name##1, Args) { name<uint8_t>(k); } \
	KERNEL(name##2, Args) { name<uint16_t>(k); } \
	KERNEL(name##4, Args) { name<uint32_t>(k); } \
	KERNEL(name##8, Args) { name<uint64_t>(k); }
SIZES(seq_reverse, Sequence)
SIZES(seq_last, Sequence)
SIZES(seq_last_grad, Sequence)
