// Local response normalization, normalization to length one, upsampling by repetition, and leaky
// rectifiers.

// Arrays are [outer][channels][inner].
struct LRN {
	T *out, *norm;
	const T *x, *dy;
	Int outer, channels, inner, half;
	double share, beta, knorm; // share: factor of the sum of squares
};
__device__ inline void around(const LRN &k, Int i, Int *lo, Int *hi) {
	Int c = i / k.inner % k.channels, from = c < k.half ? 0 : c - k.half,
		to = c + k.half < k.channels ? c + k.half : k.channels - 1;
	*lo = i + (from - c) * k.inner, *hi = i + (to - c) * k.inner;
}
KERNEL(lrn, LRN) {
	EACH(i, k.outer * k.channels * k.inner) {
		Int lo, hi;
		around(k, i, &lo, &hi);
		A sum = 0;
		for (Int j = lo; j <= hi; j += k.inner) sum += get(k.x, j) * get(k.x, j);
		A norm = (A)k.knorm + (A)k.share * sum;
		if (k.norm) put(k.norm, i, norm);
		if (k.out) put(k.out, i, get(k.x, i) * gx_pow(norm, (A)-k.beta));
	}
}
KERNEL(lrn_grad, LRN) {
	EACH(i, k.outer * k.channels * k.inner) {
		Int lo, hi;
		around(k, i, &lo, &hi);
		A sum = 0;
		for (Int j = lo; j <= hi; j += k.inner)
			sum += get(k.dy, j) * get(k.x, j) * gx_pow(get(k.norm, j), (A)(-k.beta - 1));
		put(k.out, i, get(k.dy, i) * gx_pow(get(k.norm, i), (A)-k.beta) -
			(A)(2 * k.beta * k.share) * get(k.x, i) * sum);
	}
}

// Parts that are normalized to length one: element j of part p is at (p / inner)·n·inner + p %
// inner + j·inner. One block per part.
struct Length {
	T *out, *norm;
	const T *x, *dy;
	Int parts, n, inner;
	double eps;
};
#define PART(k) \
	for (Int p = blockIdx.x; p < (k).parts; p += gridDim.x) { \
		const Int base = p / (k).inner * (k).n * (k).inner + p % (k).inner;
#define ALONG for (Int j = threadIdx.x; j < k.n; j += blockDim.x)
#define AT (base + j * k.inner)
KERNEL(length, Length) {
	PART(k)
		A sum = 0;
		ALONG sum += get(k.x, AT) * get(k.x, AT);
		A norm = gx_sqrt(together<Add>(sum) + (A)k.eps);
		if (k.norm && threadIdx.x == 0) put(k.norm, p, norm);
		if (k.out) ALONG put(k.out, AT, get(k.x, AT) / norm);
	}
}
KERNEL(length_grad, Length) { /* x is the output */
	PART(k)
		A sum = 0;
		ALONG sum += get(k.dy, AT) * get(k.x, AT);
		sum = together<Add>(sum);
		A norm = get(k.norm, p);
		ALONG put(k.out, AT, (get(k.dy, AT) - get(k.x, AT) * sum) / norm);
	}
}

// Every element of a small image is repeated fh·fw times, in the channels from first on of a large
// image.
struct Grow {
	T *out;
	const T *in;
	Int batch, channels, h, w, fh, fw, first, total; // total: channels of the large image
	Int add;                                         // add to the old values
};
KERNEL(grow, Grow) {
	Int oh = k.h * k.fh, ow = k.w * k.fw;
	EACH(i, k.batch * k.channels * oh * ow) {
		Int x = i % ow, y = i / ow % oh, c = i / ow / oh % k.channels, b = i / ow / oh / k.channels;
		A v = get(k.in, ((b * k.channels + c) * k.h + y / k.fh) * k.w + x / k.fw);
		Int to = ((b * k.total + k.first + c) * oh + y) * ow + x;
		put(k.out, to, k.add ? get(k.out, to) + v : v);
	}
}
KERNEL(grow_grad, Grow) { /* in is the large image */
	Int oh = k.h * k.fh, ow = k.w * k.fw;
	EACH(i, k.batch * k.channels * k.h * k.w) {
		Int x = i % k.w, y = i / k.w % k.h, c = i / k.w / k.h % k.channels,
			b = i / k.w / k.h / k.channels;
		A sum = 0;
		for (Int dy = 0; dy < k.fh; dy++)
			for (Int dx = 0; dx < k.fw; dx++)
				sum += get(k.in, ((b * k.total + k.first + c) * oh + y * k.fh + dy) * ow +
					x * k.fw + dx);
		put(k.out, i, sum);
	}
}

// Rectifiers with given slopes: gamma broadcasts over the elements, or slopes are drawn at random.
struct Bend {
	T *out, *mask, *dgamma;
	const T *x, *gamma, *dy;
	Int n, nd, dim[AXES], sg[AXES];
	// Gammas, and the elements that share each
	Int outs, size, nk, dk[AXES], sk[AXES], nr, dr[AXES], sr[AXES];
	double low, high;
	Int draws;
	uint64_t key, counter;
};
KERNEL(prelu, Bend) {
	EACH(i, k.n) {
		A x = get(k.x, i);
		put(k.out, i, x > 0 ? x : x * get(k.gamma, at(i, k.nd, k.dim, k.sg)));
	}
}
KERNEL(prelu_grad, Bend) {
	EACH(i, k.n) {
		A dy = get(k.dy, i);
		put(k.out, i, get(k.x, i) > 0 ? dy : dy * get(k.gamma, at(i, k.nd, k.dim, k.sg)));
	}
}
KERNEL(prelu_gamma, Bend) { /* one block per gamma */
	for (Int o = blockIdx.x; o < k.outs; o += gridDim.x) {
		Int base = at(o, k.nk, k.dk, k.sk);
		A sum = 0;
		for (Int r = threadIdx.x; r < k.size; r += blockDim.x) {
			Int i = base + at(r, k.nr, k.dr, k.sr);
			A x = get(k.x, i);
			if (x <= 0) sum += get(k.dy, i) * x;
		}
		sum = together<Add>(sum);
		if (threadIdx.x == 0) put(k.dgamma, o, sum);
	}
}
KERNEL(rrelu, Bend) {
	EACH(i, k.n) {
		double slope = (k.low + k.high) / 2;
		if (k.draws) {
			uint32_t word[4];
			philox(k.key, k.counter, 0, i / 4, word);
			slope = k.low + (k.high - k.low) * unit(word[i % 4]);
		}
		A x = get(k.x, i), s = x > 0 ? (A)1 : (A)slope;
		if (k.out) put(k.out, i, x * s);
		if (k.mask) put(k.mask, i, s);
	}
}
