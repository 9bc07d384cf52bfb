// Softmax, its logarithm and softmin along one axis of [outer][n][inner]. One block per lane.
// Elements after the length of a lane are zero in the output.

struct Softmax {
	T *out;
	const T *a, *b;
	Ptr length;
	Int type, outer, n, inner;
	double factor;
	Int log;
};

#define LANES \
	const A factor = (A)k.factor; \
	for (Int lane = blockIdx.x; lane < k.outer * k.inner; lane += gridDim.x) { \
		Int base = lane / k.inner * k.n * k.inner + lane % k.inner, valid = k.n; \
		if (k.length) { \
			Int l = read_int(k.length, k.type, lane); \
			valid = l < 0 ? 0 : l < k.n ? l : k.n; \
		}
#define ALONG for (Int i = threadIdx.x; i < k.n; i += blockDim.x)
#define AT (base + i * k.inner)

__device__ inline float e_to(float x) { return expf(x); }
__device__ inline double e_to(double x) { return exp(x); }

KERNEL(softmax, Softmax) {
	LANES
		A top = -INFINITY;
		ALONG if (i < valid) top = gx_max(top, (A)(get(k.a, AT) * factor));
		top = together<Most>(top);
		A sum = 0;
		ALONG if (i < valid) sum += e_to((A)(get(k.a, AT) * factor - top));
		sum = together<Add>(sum);
		A shift = k.log ? (A)log((double)sum) : 0;
		ALONG {
			A v = get(k.a, AT) * factor - top;
			put(k.out, AT, i >= valid ? (A)0 : k.log ? v - shift : e_to(v) / sum);
		}
	}
}

// The gradient, from the gradient of the output, a, and the output, b.
KERNEL(softmax_grad, Softmax) {
	LANES
		A sum = 0;
		ALONG if (i < valid) sum += k.log ? get(k.a, AT) : get(k.a, AT) * get(k.b, AT);
		sum = together<Add>(sum);
		ALONG {
			A dy = get(k.a, AT), y = get(k.b, AT);
			put(k.out, AT, i >= valid ? (A)0 : k.log ? factor * (dy - e_to(y) * sum)
				: factor * y * (dy - sum));
		}
	}
}
