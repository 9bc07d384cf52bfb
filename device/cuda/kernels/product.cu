// Products of matrices without cuBLAS: C = alpha·A·B + beta·C, for batches, each operand with its
// strides in elements. A block computes a tile of C from tiles of A and B in shared memory.

struct Product {
	const T *a, *b;
	T *c;
	Int batch, m, n, depth;
	Int ba, bb, bc;             // from one matrix to the next
	Int ra, ca, rb, cb, rc, cc; // from one row and column to the next
	double alpha, beta;
};

KERNEL(product, Product) {
	const int tile = 16;
	__shared__ A sa[tile][tile + 1], sb[tile][tile + 1];
	Int across = (k.n + tile - 1) / tile, down = (k.m + tile - 1) / tile;
	int x = threadIdx.x % tile, y = threadIdx.x / tile;
	for (Int t = blockIdx.x; t < across * down * k.batch; t += gridDim.x) {
		Int col = t % across * tile + x, row = t / across % down * tile + y,
			batch = t / (across * down);
		const T *a = k.a + batch * k.ba, *b = k.b + batch * k.bb;
		A sum = 0;
		for (Int d = 0; d < k.depth; d += tile) {
			sa[y][x] = row < k.m && d + x < k.depth ? get(a, row * k.ra + (d + x) * k.ca) : (A)0;
			sb[y][x] = col < k.n && d + y < k.depth ? get(b, (d + y) * k.rb + col * k.cb) : (A)0;
			__syncthreads();
			for (int i = 0; i < tile; i++) sum += sa[y][i] * sb[i][x];
			__syncthreads();
		}
		if (row < k.m && col < k.n) {
			Int o = batch * k.bc + row * k.rc + col * k.cc;
			A v = (A)k.alpha * sum;
			if (k.beta != 0) v += (A)k.beta * get(k.c, o);
			put(k.c, o, v);
		}
	}
}
