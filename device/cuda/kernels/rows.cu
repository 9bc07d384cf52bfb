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
KERNEL(rows_norm_grad, Rows) {
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
