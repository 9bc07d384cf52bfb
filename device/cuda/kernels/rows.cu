// Normalization of groups of elements (layer, instance and group norm).

// Element j of group g is at (g / inner)·n·inner + g % inner + j·inner. Its gamma is number j, or,
// with per_group > 0, number g % per_group.
struct Rows {
	T *out;
	const T *x, *dy, *gamma, *beta;
	T *mean, *std, *dgamma, *dbeta;
	Int groups, n, inner, per_group;
	double eps;
};
#define ROW \
	for (Int g = blockIdx.x; g < k.groups; g += gridDim.x) { \
		Int base = g / k.inner * k.n * k.inner + g % k.inner;
#define ALONG for (Int j = threadIdx.x; j < k.n; j += blockDim.x)
#define AT (base + j * k.inner)
#define PARAM (k.per_group ? g % k.per_group : j)

KERNEL(rows_norm, Rows) {
	ROW
		A sum = 0;
		ALONG sum += get(k.x, AT);
		A mean = together<Add>(sum) / (A)k.n;
		sum = 0;
		ALONG {
			A d = get(k.x, AT) - mean;
			sum += d * d;
		}
		A std = (A)sqrt((double)together<Add>(sum) / (double)k.n + k.eps);
		if (threadIdx.x == 0) {
			if (k.mean) put(k.mean, g, mean);
			if (k.std) put(k.std, g, std);
		}
		if (k.out)
			ALONG put(k.out, AT, (get(k.x, AT) - mean) / std * get(k.gamma, PARAM) +
				get(k.beta, PARAM));
	}
}

// The statistics are computed again, because stored statistics of half precision are rounded.
__device__ inline void norm_grad(const Rows &k) {
	ROW
		A mean = get(k.mean, g), std = get(k.std, g), shift = 0, tilt = 0;
		ALONG {
			A d = get(k.dy, AT) * get(k.gamma, PARAM);
			shift += d, tilt += d * (get(k.x, AT) - mean) / std;
		}
		shift = together<Add>(shift) / (A)k.n;
		tilt = together<Add>(tilt) / (A)k.n;
		ALONG {
			A h = (get(k.x, AT) - mean) / std;
			put(k.out, AT, (get(k.dy, AT) * get(k.gamma, PARAM) - shift - h * tilt) / std);
		}
	}
}

KERNEL(rows_norm_grad, Rows) { norm_grad(k); }

// The gradients of gamma and beta, one block per parameter.
KERNEL(rows_param_grad, Rows) {
	Int params = k.per_group ? k.per_group : k.n,
		terms = k.per_group ? k.groups / k.per_group * k.n : k.groups;
	for (Int p = blockIdx.x; p < params; p += gridDim.x) {
		A a = 0, b = 0;
		for (Int r = threadIdx.x; r < terms; r += blockDim.x) {
			Int g = k.per_group ? r / k.n * k.per_group + p : r, j = k.per_group ? r % k.n : p;
			Int at = g / k.inner * k.n * k.inner + g % k.inner + j * k.inner;
			A dy = get(k.dy, at);
			a += dy * (get(k.x, at) - get(k.mean, g)) / get(k.std, g), b += dy;
		}
		a = together<Add>(a);
		b = together<Add>(b);
		if (threadIdx.x == 0) {
			if (k.dgamma) put(k.dgamma, p, a);
			if (k.dbeta) put(k.dbeta, p, b);
		}
	}
}

// The gradients of gamma and beta where rows are contiguous and every column has a parameter:
// blocks read rows of COLUMNS neighbours. part holds [chunks][2][n] sums, which a later kernel adds
// in order.
const int COLUMNS = 32;
struct Columns {
	Rows k;
	A *part;
	Int chunks;
};
KERNEL(rows_param_columns, Columns) {
	__shared__ A buf[2][BLOCK];
	const Rows &r = k.k;
	Int chunk = (r.groups + k.chunks - 1) / k.chunks, tiles = (r.n + COLUMNS - 1) / COLUMNS;
	int x = threadIdx.x % COLUMNS, y = threadIdx.x / COLUMNS, rows = blockDim.x / COLUMNS;
	for (Int b = blockIdx.x; b < tiles * k.chunks; b += gridDim.x) {
		Int j = b / k.chunks * COLUMNS + x, part = b % k.chunks, from = part * chunk,
			to = from + chunk < r.groups ? from + chunk : r.groups;
		A gamma = 0, beta = 0;
		if (j < r.n)
			for (Int g = from + y; g < to; g += rows) {
				A dy = get(r.dy, g * r.n + j);
				gamma += dy * (get(r.x, g * r.n + j) - get(r.mean, g)) / get(r.std, g), beta += dy;
			}
		__syncthreads();
		buf[0][threadIdx.x] = gamma, buf[1][threadIdx.x] = beta;
		__syncthreads();
		if (y == 0 && j < r.n) {
			for (int i = 1; i < rows; i++)
				gamma += buf[0][i * COLUMNS + x], beta += buf[1][i * COLUMNS + x];
			k.part[(part * 2) * r.n + j] = gamma, k.part[(part * 2 + 1) * r.n + j] = beta;
		}
	}
}
__device__ inline void join(const Columns &k) {
	const Rows &r = k.k;
	EACH(j, r.n) {
		A gamma = 0, beta = 0;
		for (Int c = 0; c < k.chunks; c++)
			gamma += k.part[c * 2 * r.n + j], beta += k.part[(c * 2 + 1) * r.n + j];
		if (r.dgamma) put(r.dgamma, j, gamma);
		if (r.dbeta) put(r.dbeta, j, beta);
	}
}
KERNEL(rows_param_join, Columns) { join(k); }
KERNEL(rows_norm_grad_join, Columns) {
	norm_grad(k.k);
	join(k);
}
