// Linear algebra on batches of small matrices: one block per matrix, in double, in scratch memory.
// Element types are known at run time. If the reference kernel returns an error, for example for a
// matrix that is not positive definite, the result is NaN.

struct Batch {
	Any out[2], in[4];
	double *scratch;
	// Matrices of m rows and n columns; room: doubles of scratch memory per matrix
	Int count, m, n, room;
	Int upper, trans, right;
	double alpha;
};
#define MATRICES \
	for (Int b = blockIdx.x; b < k.count; b += gridDim.x) { \
		double *mem = k.scratch + b * k.room;
#define THREADED(i, n) _Pragma("unroll 1") for (Int i = threadIdx.x, end_##i = (n); i < end_##i; i += blockDim.x)

// All functions below are called by all threads of a block, and end with a barrier.
__device__ inline void load(double *to, const Any &t, Int first, Int n) {
	THREADED(i, n) to[i] = t[first + i];
	__syncthreads();
}
__device__ inline void store(const Any &t, Int first, const double *from, Int n) {
	THREADED(i, n) if (t.p) t.set(first + i, from[i]);
	__syncthreads();
}
// c = alpha·op(a)·op(b), where c has m·n elements and each is a sum of depth terms.
__device__ inline void multiply(double *c, const double *a, const double *b, Int m, Int n,
	Int depth, bool ta, bool tb, double alpha) {
	THREADED(i, m * n) {
		Int r = i / n, col = i % n;
		double sum = 0;
		for (Int d = 0; d < depth; d++)
			sum += (ta ? a[d * m + r] : a[r * depth + d]) *
				(tb ? b[col * depth + d] : b[d * n + col]);
		c[i] = alpha * sum;
	}
	__syncthreads();
}
// Keeps the lower triangle of a: sets the upper one to zero, or with mirror to the transpose.
__device__ inline void lower(double *a, Int n, bool mirror) {
	THREADED(i, n * n) if (i % n > i / n) a[i] = mirror ? a[i % n * n + i / n] : 0;
	__syncthreads();
}
// b = op(t)^-1·b, or b·op(t)^-1 with right, for the upper or lower triangle of t, which has n rows;
// lines: number of columns (rows with right) of b. One thread per line.
__device__ inline void solve(const double *t, double *b, Int n, Int lines, bool upper, bool trans,
	bool right) {
	THREADED(l, lines) {
		bool forward = right ? upper != trans : upper == trans; // solve for the first element first
		for (Int s = 0; s < n; s++) {
			Int i = forward ? s : n - 1 - s;
			double v = right ? b[l * n + i] : b[i * lines + l];
			for (Int r = 0; r < s; r++) {
				Int j = forward ? r : n - 1 - r;
				double w = right != trans ? t[j * n + i] : t[i * n + j];
				v -= w * (right ? b[l * n + j] : b[j * lines + l]);
			}
			v /= t[i * n + i];
			if (right) b[l * n + i] = v;
			else b[i * lines + l] = v;
		}
	}
	__syncthreads();
}

// The lower triangular Cholesky factor of a symmetric matrix; it replaces the lower triangle.
__device__ inline void cholesky(double *a, Int n) {
	for (Int j = 0; j < n; j++) {
		double root = sqrt(a[j * n + j]);
		__syncthreads();
		THREADED(i, n - j) a[(j + i) * n + j] = i == 0 ? root : a[(j + i) * n + j] / root;
		__syncthreads();
		Int rest = n - j - 1;
		THREADED(i, rest * rest) {
			Int r = j + 1 + i / rest, c = j + 1 + i % rest;
			if (c <= r) a[r * n + c] -= a[r * n + j] * a[c * n + j];
		}
		__syncthreads();
	}
	lower(a, n, false);
}
// Transposes a square matrix in place.
__device__ inline void transpose(double *a, Int n) {
	THREADED(i, n * n) {
		Int r = i / n, c = i % n;
		if (c < r) {
			double v = a[i];
			a[i] = a[c * n + r];
			a[c * n + r] = v;
		}
	}
	__syncthreads();
}
KERNEL(potrf, Batch) {
	MATRICES
		load(mem, k.in[0], b * k.n * k.n, k.n * k.n);
		if (k.upper) transpose(mem, k.n);
		cholesky(mem, k.n);
		if (k.upper) transpose(mem, k.n);
		store(k.out[0], b * k.n * k.n, mem, k.n * k.n);
	}
}
// The identity matrix, from which solve computes the inverse of a triangular factor.
__device__ inline void identity(double *a, Int n) {
	THREADED(i, n * n) a[i] = i / n == i % n;
	__syncthreads();
}
KERNEL(potri, Batch) {
	MATRICES
		Int size = k.n * k.n;
		double *inv = mem + size, *out = inv + size;
		load(mem, k.in[0], b * size, size);
		if (k.upper) transpose(mem, k.n);
		identity(inv, k.n);
		solve(mem, inv, k.n, k.n, false, false, false);
		multiply(out, inv, inv, k.n, k.n, k.n, true, false, 1);
		store(k.out[0], b * size, out, size);
	}
}
KERNEL(potrf_grad, Batch) { /* of the gradient and the factor */
	MATRICES
		Int size = k.n * k.n;
		double *l = mem + size, *s = l + size;
		load(mem, k.in[0], b * size, size);
		load(l, k.in[1], b * size, size);
		lower(l, k.n, false);
		multiply(s, l, mem, k.n, k.n, k.n, true, false, 0.5);
		lower(s, k.n, true);
		solve(l, s, k.n, k.n, false, true, false);
		solve(l, s, k.n, k.n, false, false, true);
		store(k.out[0], b * size, s, size);
	}
}
KERNEL(potri_grad, Batch) { /* of the gradient, the factor and the inverse */
	MATRICES
		Int size = k.n * k.n;
		double *s = mem + size, *inv = s + size;
		load(mem, k.in[0], b * size, size);
		THREADED(i, size) s[i] = mem[i] + mem[i % k.n * k.n + i / k.n];
		__syncthreads();
		load(inv, k.in[2], b * size, size);
		multiply(mem, inv, s, k.n, k.n, k.n, false, false, -1);
		load(s, k.in[1], b * size, size);
		solve(s, mem, k.n, k.n, false, true, true);
		lower(mem, k.n, false);
		store(k.out[0], b * size, mem, size);
	}
}

// Products with triangular matrices and solutions of triangular systems: in are A, square, and B
// with m rows and n columns.
KERNEL(trsm, Batch) {
	MATRICES
		Int side = k.right ? k.n : k.m, lines = k.right ? k.m : k.n, size = k.m * k.n;
		double *x = mem + side * side;
		load(mem, k.in[0], b * side * side, side * side);
		load(x, k.in[1], b * size, size);
		THREADED(i, size) x[i] *= k.alpha;
		__syncthreads();
		solve(mem, x, side, lines, k.upper, k.trans, k.right);
		store(k.out[0], b * size, x, size);
	}
}
KERNEL(trmm, Batch) {
	MATRICES
		Int side = k.right ? k.n : k.m, size = k.m * k.n;
		double *x = mem + side * side, *y = x + size;
		load(mem, k.in[0], b * side * side, side * side);
		THREADED(i, side * side) if (k.upper ? i / side > i % side : i / side < i % side) mem[i] =
			0;
		__syncthreads();
		load(x, k.in[1], b * size, size);
		if (k.right) multiply(y, x, mem, k.m, k.n, k.n, false, k.trans, k.alpha);
		else multiply(y, mem, x, k.m, k.n, k.m, k.trans, false, k.alpha);
		store(k.out[0], b * size, y, size);
	}
}

// The LU factorization with row exchanges: swap[j] is the row exchanged with row j. Returns false
// if a pivot is zero.
__device__ inline bool factor(double *a, double *swap, Int n) {
	bool ok = true;
	for (Int j = 0; j < n; j++) {
		Int best = j;
		for (Int i = j + 1; i < n; i++)
			if (fabs(a[i * n + j]) > fabs(a[best * n + j])) best = i;
		double pivot = a[best * n + j];
		__syncthreads();
		if (threadIdx.x == 0) swap[j] = (double)best;
		if (best != j) THREADED(c, n) {
			double v = a[j * n + c];
			a[j * n + c] = a[best * n + c], a[best * n + c] = v;
		}
		__syncthreads();
		if (pivot == 0) {
			ok = false;
			continue;
		}
		Int rest = n - j - 1;
		THREADED(i, rest) a[(j + 1 + i) * n + j] /= pivot;
		__syncthreads();
		THREADED(i, rest * rest) a[(j + 1 + i / rest) * n + j + 1 + i % rest] -=
			a[(j + 1 + i / rest) * n + j] * a[j * n + j + 1 + i % rest];
		__syncthreads();
	}
	return ok;
}
// The inverse, from the factors; one thread per column.
__device__ inline void invert(const double *lu, const double *swap, double *inv, Int n) {
	THREADED(c, n) {
		for (Int i = 0; i < n; i++) inv[i * n + c] = i == c;
		for (Int i = 0; i < n; i++) {
			Int s = (Int)swap[i];
			double v = inv[i * n + c];
			inv[i * n + c] = inv[s * n + c], inv[s * n + c] = v;
		}
		for (Int i = 0; i < n; i++)
			for (Int j = 0; j < i; j++) inv[i * n + c] -= lu[i * n + j] * inv[j * n + c];
		for (Int i = n - 1; i >= 0; i--) {
			for (Int j = i + 1; j < n; j++) inv[i * n + c] -= lu[i * n + j] * inv[j * n + c];
			inv[i * n + c] /= lu[i * n + i];
		}
	}
	__syncthreads();
}
KERNEL(inverse, Batch) {
	MATRICES
		Int size = k.n * k.n;
		double *inv = mem + size, *swap = inv + size;
		load(mem, k.in[0], b * size, size);
		bool ok = factor(mem, swap, k.n);
		invert(mem, swap, inv, k.n);
		THREADED(i, size) if (!ok) inv[i] = NAN;
		__syncthreads();
		store(k.out[0], b * size, inv, size);
	}
}
KERNEL(det, Batch) {
	MATRICES
		double *swap = mem + k.n * k.n, det = 1;
		load(mem, k.in[0], b * k.n * k.n, k.n * k.n);
		factor(mem, swap, k.n);
		for (Int i = 0; i < k.n; i++)
			det *= (Int)swap[i] != i ? -mem[i * k.n + i] : mem[i * k.n + i];
		if (threadIdx.x == 0) k.out[0].set(b, det);
		__syncthreads();
	}
}
KERNEL(slogdet, Batch) {
	MATRICES
		double *swap = mem + k.n * k.n, sign = 1, sum = 0;
		load(mem, k.in[0], b * k.n * k.n, k.n * k.n);
		factor(mem, swap, k.n);
		for (Int i = 0; i < k.n; i++) {
			double v = mem[i * k.n + i];
			if ((v < 0) != ((Int)swap[i] != i)) sign = -sign;
			if (v == 0) sign = 0;
			sum += log(fabs(v));
		}
		if (threadIdx.x == 0 && k.out[0].p) k.out[0].set(b, sign);
		if (threadIdx.x == 0 && k.out[1].p) k.out[1].set(b, sum);
		__syncthreads();
	}
}
KERNEL(inverse_grad, Batch) { /* the transposed inverse times numbers, in[0] and, where there are some, in[1]; zeros for singular matrices */
	MATRICES
		Int size = k.n * k.n;
		double *inv = mem + size, *swap = inv + size, f = k.in[0][b];
		if (k.in[1].p) f *= k.in[1][b];
		load(mem, k.in[2], b * size, size);
		bool ok = factor(mem, swap, k.n);
		invert(mem, swap, inv, k.n);
		THREADED(i, size) k.out[0].set(b * size + i, ok ? f * inv[i % k.n * k.n + i / k.n] : 0);
		__syncthreads();
	}
}

// The factorization into a lower triangular matrix and one with orthonormal rows, by Householder
// reflections as in LAPACK.
KERNEL(gelqf, Batch) {
	MATRICES
		Int m = k.m, n = k.n;
		double *q = mem + m * n, *tau = q + m * n;
		load(mem, k.in[0], b * m * n, m * n);
		for (Int i = 0; i < m; i++) {
			double *row = mem + i * n, sum = 0;
			THREADED(c, n - i - 1) sum += row[i + 1 + c] * row[i + 1 + c];
			sum = together<Add>(sum);
			double head = row[i], beta = head < 0 ? sqrt(head * head + sum)
				: -sqrt(head * head + sum), t = 0;
			__syncthreads();
			if (sum != 0) {
				t = (beta - head) / beta;
				THREADED(c, n - i - 1) row[i + 1 + c] /= head - beta;
				if (threadIdx.x == 0) row[i] = beta;
			}
			if (threadIdx.x == 0) tau[i] = t;
			__syncthreads();
			THREADED(r, m - i - 1) {
				double *other = mem + (i + 1 + r) * n, dot = other[i];
				for (Int c = i + 1; c < n; c++) dot += other[c] * row[c];
				other[i] -= t * dot;
				for (Int c = i + 1; c < n; c++) other[c] -= t * dot * row[c];
			}
			__syncthreads();
		}
		THREADED(r, m) {
			double *line = q + r * n;
			for (Int c = 0; c < n; c++) line[c] = c == r;
			for (Int i = r; i >= 0; i--) {
				const double *row = mem + i * n;
				double dot = line[i];
				for (Int c = i + 1; c < n; c++) dot += line[c] * row[c];
				line[i] -= tau[i] * dot;
				for (Int c = i + 1; c < n; c++) line[c] -= tau[i] * dot * row[c];
			}
		}
		__syncthreads();
		store(k.out[0], b * m * n, q, m * n);
		THREADED(i, m * m) if (k.out[1].p) k.out[1].set(b * m * m + i,
			i % m <= i / m ? mem[i / m * n + i % m] : 0);
		__syncthreads();
	}
}
KERNEL(gelqf_grad, Batch) { /* of the gradients of Q and L, and both */
	MATRICES
		Int m = k.m, n = k.n;
		double *dl = mem + m * n, *q = dl + m * m, *l = q + m * n, *s = l + m * m, *t = s + m * m;
		load(mem, k.in[0], b * m * n, m * n);
		load(dl, k.in[1], b * m * m, m * m);
		load(q, k.in[2], b * m * n, m * n);
		load(l, k.in[3], b * m * m, m * m);
		lower(dl, m, false);
		multiply(s, l, dl, m, m, m, true, false, 1);
		multiply(t, mem, q, m, m, n, false, true, -1);
		THREADED(i, m * m) s[i] += t[i];
		__syncthreads();
		lower(s, m, true);
		multiply(t, s, q, m, n, m, false, false, 1);
		THREADED(i, m * n) mem[i] += t[i];
		__syncthreads();
		solve(l, mem, m, n, false, true, false);
		store(k.out[0], b * m * n, mem, m * n);
	}
}

// Eigenvalues and eigenvectors of symmetric matrices by Jacobi's rotations of all pairs, until the
// elements off the diagonal vanish.
__device__ inline void rotate(double *a, double *v, Int n, Int p, Int q, double tiny) {
	double off = a[p * n + q], gap = a[q * n + q] - a[p * n + p];
	__syncthreads();
	if (fabs(off) <= tiny) return;
	double theta = gap / (2 * off), t = (theta < 0 ? -1 : 1) /
		(fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
	THREADED(i, n) {
		double x = a[i * n + p], y = a[i * n + q];
		a[i * n + p] = c * x - s * y, a[i * n + q] = s * x + c * y;
		x = v[i * n + p], y = v[i * n + q];
		v[i * n + p] = c * x - s * y, v[i * n + q] = s * x + c * y;
	}
	__syncthreads();
	THREADED(i, n) {
		double x = a[p * n + i], y = a[q * n + i];
		a[p * n + i] = c * x - s * y, a[q * n + i] = s * x + c * y;
	}
	__syncthreads();
}
KERNEL(syevd, Batch) {
	MATRICES
		Int n = k.n;
		double *v = mem + n * n, *value = v + n * n, *rank = value + n, sum = 0;
		load(mem, k.in[0], b * n * n, n * n);
		lower(mem, n, true);
		identity(v, n);
		THREADED(i, n * n) sum += mem[i] * mem[i];
		double norm = sqrt(together<Add>(sum)), last = INFINITY;
		for (int sweep = 0; sweep < 60; sweep++) {
			double off = 0;
			THREADED(i, n * n) if (i / n != i % n) off += mem[i] * mem[i];
			off = sqrt(together<Add>(off));
			if (!(off > 1e-18 * norm) || (sweep > 12 && off >= last)) break;
			last = off;
			for (Int p = 0; p < n; p++)
				for (Int q = p + 1; q < n; q++) rotate(mem, v, n, p, q, 1e-20 * norm);
		}
		THREADED(i, n) value[i] = mem[i * n + i];
		__syncthreads();
		THREADED(i, n) {
			Int at = 0;
			for (Int j = 0; j < n; j++)
				at += value[j] < value[i] || (value[j] == value[i] && j < i);
			rank[i] = (double)at;
			if (k.out[1].p) k.out[1].set(b * n + at, value[i]);
			Int most = 0;
			for (Int j = 1; j < n; j++)
				if (fabs(v[j * n + i]) > fabs(v[most * n + i])) most = j;
			double sign = n > 0 && v[most * n + i] < 0 ? -1 : 1;
			for (Int j = 0; j < n && k.out[0].p; j++)
				k.out[0].set((b * n + at) * n + j, sign * v[j * n + i]);
		}
		__syncthreads();
	}
}
KERNEL(syevd_grad, Batch) { /* of the gradients of vectors and values, and both */
	MATRICES
		Int n = k.n, size = n * n;
		double *u = mem + size, *x = u + size, *y = x + size;
		load(mem, k.in[0], b * size, size);
		load(u, k.in[2], b * size, size);
		multiply(x, mem, u, n, n, n, false, true, 1);
		THREADED(i, size) {
			Int r = i / n, c = i % n, hi = r > c ? r : c, lo = r > c ? c : r;
			double gap = k.in[3][b * n + hi] - k.in[3][b * n + lo];
			if (gap < 2.220446049250313e-16) gap = 2.220446049250313e-16;
			y[i] = r == c ? k.in[1][b * n + r] : (x[hi * n + lo] - x[lo * n + hi]) / (2 * gap);
		}
		__syncthreads();
		multiply(mem, u, y, n, n, n, true, false, 1);
		multiply(x, mem, u, n, n, n, false, false, 1);
		store(k.out[0], b * size, x, size);
	}
}

// Diagonals and triangles in packed form; positions belong to square matrices with n rows.
struct Band {
	Any out, in;
	Int count, n, offset, upper, packed, unpack; // packed: number of packed elements per matrix
};
__device__ inline Int triangle_place(const Band &k, Int i) {
	Int cut = k.offset < 0 ? -k.offset : k.offset, r = (Int)((sqrt(8.0 * (double)i + 1) - 1) / 2);
	while (r * (r + 1) / 2 > i) r--;
	while ((r + 1) * (r + 2) / 2 <= i) r++;
	Int c = i - r * (r + 1) / 2;
	return k.upper ? c * k.n + r + cut : (r + cut) * k.n + c;
}
__device__ inline Int diagonal_place(const Band &k,
	Int i) { return (i + (k.offset < 0 ? -k.offset : 0)) * k.n + i + (k.offset > 0 ? k.offset : 0);
	}
#define BAND(name, place) \
	KERNEL(name, Band) { \
		EACH(t, k.count * k.packed) { \
			Int at = t / k.packed * k.n * k.n + place(k, t % k.packed); \
			if (k.unpack) k.out.copy(at, k.in, t); \
			else k.out.copy(t, k.in, at); \
		} \
	}
BAND(triangle, triangle_place)
BAND(diagonal, diagonal_place)

KERNEL(sumlogdiag, Batch) {
	EACH(b, k.count) {
		double sum = 0;
		for (Int i = 0; i < k.n; i++) sum += log(k.in[0][(b * k.n + i) * k.n + i]);
		k.out[0].set(b, sum);
	}
}
KERNEL(sumlogdiag_grad, Batch) {
	EACH(i, k.count * k.n * k.n) {
		Int r = i / k.n % k.n;
		k.out[0].set(i, r == i % k.n ? k.in[0][i / (k.n * k.n)] / k.in[1][i] : 0);
	}
}
