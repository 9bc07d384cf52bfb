// Copies of elements of one, two, four and eight bytes between views: src and dst have strides
// along the axes of the walk.

struct Copy {
	Ptr dst, src;
	Int n, nd, dim[AXES], sd[AXES], ss[AXES];
};

template <class E> __device__ inline void move(const Copy &k) {
	EACH(i, k.n) {
		Int rest = i, d = 0, s = 0;
		for (int a = (int)k.nd - 1; a >= 0; a--) {
			Int at = rest % k.dim[a];
			rest /= k.dim[a];
			d += at * k.sd[a], s += at * k.ss[a];
		}
		((E *)k.dst)[d] = ((E *)k.src)[s];
	}
}
KERNEL(copy1, Copy) { move<uint8_t>(k); }
KERNEL(copy2, Copy) { move<uint16_t>(k); }
KERNEL(copy4, Copy) { move<uint32_t>(k); }
KERNEL(copy8, Copy) { move<uint64_t>(k); }

// Transposition of batches of matrices.
struct Transpose {
	Ptr dst, src;
	Int batch, rows, cols; // of src
};

template <class E> __device__ inline void transpose(const Transpose &k) {
	turn<E>(k.batch, k.rows, k.cols, [&](Int i) { return ((E *)k.src)[i]; },
		[&](Int i, E v) { ((E *)k.dst)[i] = v; });
}
KERNEL(transpose1, Transpose) { transpose<uint8_t>(k); }
KERNEL(transpose2, Transpose) { transpose<uint16_t>(k); }
KERNEL(transpose4, Transpose) { transpose<uint32_t>(k); }
KERNEL(transpose8, Transpose) { transpose<uint64_t>(k); }

// Elements of x if the condition is not zero, else of y; a condition applies to a run of elements.
struct Where {
	Ptr out, cond, x, y;
	Int type, n, run;
};
template <class E> __device__ inline void where(const Where &k) {
	EACH(i, k.n) ((E *)k.out)[i] = read(k.cond, k.type, i / k.run) != 0 ? ((E *)k.x)[i]
		: ((E *)k.y)[i];
}
KERNEL(where1, Where) { where<uint8_t>(k); }
KERNEL(where2, Where) { where<uint16_t>(k); }
KERNEL(where4, Where) { where<uint32_t>(k); }
KERNEL(where8, Where) { where<uint64_t>(k); }
