// Softmax, its logarithm and softmin along one axis of [outer][n][inner]. A team is a block, or a warp
// for short lanes, and treats one lane at a time. Elements after the length of a lane are zero in the
// output.

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
	const int team = warps ? 32 : blockDim.x, self = threadIdx.x % team; \
	for (Int lane = THREAD / team; lane < k.outer * k.inner; lane += THREADS / team) { \
		Int base = lane / k.inner * k.n * k.inner + lane % k.inner, valid = k.n; \
		if (k.length) { \
			Int l = read_int(k.length, k.type, lane); \
			valid = l < 0 ? 0 : l < k.n ? l : k.n; \
		}
#define ALONG for (Int i = self; i < k.n; i += team)
#define AT (base + i * k.inner)

// all folds the values of the threads of a team.
template <class F, bool warps> __device__ inline A all(A v) {
	return warps ? across<F, 32>(v) : together<F>(v);
}

template <bool warps> __device__ inline void softmax(const Softmax &k) {
	LANES
		A top = -INFINITY;
		ALONG if (i < valid) top = gx_max(top, (A)(get(k.a, AT) * factor));
		top = all<Most, warps>(top);
		A sum = 0;
		ALONG if (i < valid) sum += gx_exp((A)(get(k.a, AT) * factor - top));
		sum = all<Add, warps>(sum);
		A shift = k.log ? (A)log((double)sum) : 0;
		ALONG {
			A v = get(k.a, AT) * factor - top;
			put(k.out, AT, i >= valid ? (A)0 : k.log ? v - shift : gx_exp(v) / sum);
		}
	}
}

// The gradient, from the gradient of the output, a, and the output, b.
template <bool warps> __device__ inline void softmax_grad(const Softmax &k) {
	LANES
		A sum = 0;
		ALONG if (i < valid) sum += k.log ? get(k.a, AT) : get(k.a, AT) * get(k.b, AT);
		sum = all<Add, warps>(sum);
		ALONG {
			A dy = get(k.a, AT), y = get(k.b, AT);
			put(k.out, AT, i >= valid ? (A)0 : k.log ? factor * (dy - gx_exp(y) * sum)
				: factor * y * (dy - sum));
		}
	}
}

KERNEL(softmax, Softmax) { softmax<false>(k); }
KERNEL(softmax_warps, Softmax) { softmax<true>(k); }
KERNEL(softmax_grad, Softmax) { softmax_grad<false>(k); }
KERNEL(softmax_grad_warps, Softmax) { softmax_grad<true>(k); }
