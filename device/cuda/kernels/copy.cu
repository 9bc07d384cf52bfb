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

// Transposition of batches of matrices through tiles in shared memory, so that accesses of memory
// are contiguous.
struct Transpose {
	Ptr dst, src;
	Int batch, rows, cols; // of src
};

template <class E> __device__ inline void transpose(const Transpose &k) {
	const int tile = 32;
	__shared__ E buf[tile][tile + 1];
	Int across = (k.cols + tile - 1) / tile, down = (k.rows + tile - 1) / tile;
	for (Int b = blockIdx.x; b < across * down * k.batch; b += gridDim.x) {
		Int c0 = b % across * tile, r0 = b / across % down * tile,
			base = b / (across * down) * k.rows * k.cols;
		int x = threadIdx.x % tile, y = threadIdx.x / tile, step = blockDim.x / tile;
		for (int r = y; r < tile; r += step)
			if (r0 + r < k.rows && c0 + x < k.cols)
				buf[r][x] = ((E *)k.src)[base + (r0 + r) * k.cols + c0 + x];
		__syncthreads();
		for (int c = y; c < tile; c += step)
			if (c0 + c < k.cols && r0 + x < k.rows)
				((E *)k.dst)[base + (c0 + c) * k.rows + r0 + x] = buf[x][c];
		__syncthreads();
	}
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
