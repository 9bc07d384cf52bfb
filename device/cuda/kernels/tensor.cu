// Running sums, histograms, Khatri-Rao products, moments, comparisons, filling and padding; element
// types are known at run time.

// Lanes of n elements, step elements apart. One block per lane: each thread sums a piece, then each
// adds the sums of the pieces before its own.
struct Running {
	Any out, in;
	// Exact: sum integers; cut: round elements towards zero first
	Int lanes, n, step, backwards, exact, cut;
};
template <class E> __device__ inline E running_get(const Running &k, Int i) {
	if (k.exact) return (E)k.in.integer(i);
	return (E)(k.cut ? trunc(k.in[i]) : k.in[i]);
}
template <class E> __device__ inline void running(const Running &k) {
	__shared__ E sums[BLOCK];
	Int piece = (k.n + blockDim.x - 1) / blockDim.x;
	for (Int l = blockIdx.x; l < k.lanes; l += gridDim.x) {
		Int base = l / k.step * k.step * k.n + l % k.step, begin = threadIdx.x * piece,
			end = begin + piece < k.n ? begin + piece : k.n;
		E sum = 0;
		for (Int i = begin; i < end; i++)
			sum += running_get<E>(k, base + (k.backwards ? k.n - 1 - i : i) * k.step);
		__syncthreads();
		sums[threadIdx.x] = sum;
		__syncthreads();
		sum = 0;
		for (unsigned t = 0; t < threadIdx.x; t++) sum += sums[t];
		for (Int i = begin; i < end; i++) {
			Int at = base + (k.backwards ? k.n - 1 - i : i) * k.step;
			sum += running_get<E>(k, at);
			if (k.exact) k.out.set_integer(at, (Int)sum);
			else k.out.set(at, (double)sum);
		}
	}
}
KERNEL(running, Running) {
	if (k.exact) running<Int>(k);
	else running<double>(k);
}

// Counts of elements between ascending edges. Counts are integers, so the order of additions does
// not matter.
struct Bins {
	unsigned long long *count;
	Any edges, x;
	Int n, bins;
};
KERNEL(bins, Bins) {
	double last = k.edges[k.bins];
	EACH(i, k.n) {
		double v = k.x[i];
		if (!(v >= k.edges[0] && v <= last)) continue;
		// Invariant: edges[lo] <= v < edges[hi]; the last bin includes its upper edge
		Int lo = 0, hi = k.bins;
		while (hi - lo > 1) {
			Int m = (lo + hi) / 2;
			if (k.edges[m] <= v) lo = m;
			else hi = m;
		}
		atomicAdd(k.count + lo, 1ull);
	}
}
struct Edges {
	Any out;
	Int n;
	double low, high;
};
KERNEL(edges, Edges) {
	EACH(i, k.n + 1) k.out.set(i, k.low + (k.high - k.low) * (double)i / (double)k.n);
}

// Products of all combinations of rows of several matrices, column by column (Khatri-Rao).
struct Columns {
	Any out, in[AXES];
	Int n, cols, count, rows[AXES];
};
KERNEL(columns, Columns) {
	EACH(i, k.n) {
		Int row = i / k.cols, col = i % k.cols;
		double v = 1;
		for (Int m = k.count - 1; m >= 0; m--)
			v *= k.in[m][row % k.rows[m] * k.cols + col], row /= k.rows[m];
		k.out.set(i, v);
	}
}

// Mean and variance of the reduced elements; one block per output.
struct Moments {
	Any mean, variance, x;
	Int outs, size, nk, dk[AXES], sk[AXES], nr, dr[AXES], sr[AXES];
};
KERNEL(moments, Moments) {
	for (Int o = blockIdx.x; o < k.outs; o += gridDim.x) {
		Int base = at(o, k.nk, k.dk, k.sk);
		double sum = 0, squares = 0;
		for (Int r = threadIdx.x; r < k.size; r += blockDim.x)
			sum += k.x[base + at(r, k.nr, k.dr, k.sr)];
		double mean = together<Add>(sum) / (double)k.size;
		for (Int r = threadIdx.x; r < k.size; r += blockDim.x) {
			double d = k.x[base + at(r, k.nr, k.dr, k.sr)] - mean;
			squares += d * d;
		}
		squares = together<Add>(squares);
		if (threadIdx.x != 0) continue;
		if (k.mean.p) k.mean.set(o, mean);
		if (k.variance.p) k.variance.set(o, squares / (double)k.size);
	}
}

// Writes a zero if two elements differ by too much; all writing threads write the same value.
struct Close {
	Any out, a, b;
	Int n, nan_differs;
	double rtol, atol;
};
KERNEL(close, Close) {
	EACH(i, k.n) {
		double a = k.a[i], b = k.b[i];
		bool same = isnan(a) || isnan(b) ? isnan(a) && isnan(b) && !k.nan_differs
			: isinf(a) || isinf(b) ? a == b : fabs(a - b) <= k.atol + k.rtol * fabs(b);
		if (!same) k.out.set(0, 0);
	}
}

struct Quadratic {
	Any out, in;
	Int n;
	double a, b, c;
};
KERNEL(quadratic, Quadratic) {
	EACH(i, k.n) {
		double x = k.in[i];
		k.out.set(i, (k.a * x + k.b) * x + k.c);
	}
}

// Fills a view with a number, and an array with a list of numbers.
struct Region {
	Any out;
	Int n, nd, dim[AXES], stride[AXES];
	double value;
};
KERNEL(region, Region) {
	EACH(i, k.n) k.out.set(at(i, k.nd, k.dim, k.stride), k.value);
}
const Int LISTED = 64;
struct List {
	Any out;
	Int n, value[LISTED];
};
KERNEL(list, List) {
	EACH(i, k.n) k.out.set_integer(i, k.value[i]);
}

// Padding with the element at the border (edge), or with the elements inside, mirrored at the
// border.
struct Padding {
	Any out, in;
	Int n, nd, edge, dim[AXES], low[AXES], high[AXES];
};
KERNEL(pad, Padding) {
	EACH(i, k.n) {
		Int rest = i, from = 0, stride = 1;
		for (Int d = k.nd - 1; d >= 0; d--) {
			Int n = k.dim[d], all = n + k.low[d] + k.high[d], p = rest % all - k.low[d];
			rest /= all;
			if (k.edge) p = p < 0 ? 0 : p < n ? p : n - 1;
			else p = p < 0 ? -p : p < n ? p : 2 * (n - 1) - p;
			from += p * stride, stride *= n;
		}
		k.out.copy(i, k.in, from);
	}
}
// The number of positions of the padded axis that repeat element i, and the j-th of them.
__device__ inline Int repeats(const Padding &k, Int d, Int i) {
	Int n = k.dim[d];
	if (k.edge) return 1 + (i == 0 ? k.low[d] : 0) + (i == n - 1 ? k.high[d] : 0);
	return 1 + (i > 0 && i <= k.low[d]) + (i < n - 1 && n - 1 - i <= k.high[d]);
}
__device__ inline Int repeat(const Padding &k, Int d, Int i, Int j) {
	Int n = k.dim[d], low = k.low[d];
	if (j == 0) return low + i;
	if (k.edge) return i == 0 && j <= low ? j - 1 : low + n + j - 1 - (i == 0 ? low : 0);
	return j == 1 && i > 0 && i <= low ? low - i : low + 2 * (n - 1) - i;
}
KERNEL(pad_grad, Padding) { /* in is the gradient of the padded array */
	EACH(i, k.n) {
		Int total = 1, rest = i;
		for (Int d = k.nd - 1; d >= 0; d--)
			total *= repeats(k, d, rest % k.dim[d]), rest /= k.dim[d];
		double sum = 0;
		for (Int t = 0; t < total; t++) {
			Int which = t, from = 0, stride = 1;
			rest = i;
			for (Int d = k.nd - 1; d >= 0; d--) {
				Int p = rest % k.dim[d], count = repeats(k, d, p);
				from += repeat(k, d, p, which % count) * stride;
				stride *= k.dim[d] + k.low[d] + k.high[d], which /= count, rest /= k.dim[d];
			}
			sum += k.in[from];
		}
		k.out.set(i, sum);
	}
}

// The index of the largest or smallest number along an axis of [outer][n][inner], the first of
// equal ones.
struct Best {
	Any out, in;
	Int outer, n, inner, largest;
};
KERNEL(best, Best) {
	EACH(o, k.outer * k.inner) {
		Int base = o / k.inner * k.n * k.inner + o % k.inner, best = 0;
		double top = k.in[base];
		for (Int i = 1; i < k.n; i++) {
			double v = k.in[base + i * k.inner];
			if (k.largest ? v > top : v < top) best = i, top = v;
		}
		k.out.set_integer(o, best);
	}
}
