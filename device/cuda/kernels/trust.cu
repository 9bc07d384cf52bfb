// Steps of optimizers that depend on the norms of whole layers, and the norms; element types are
// known at run time.

// The sum of squares of each of count chunks of x; one block per chunk.
struct Squares {
	Any x;
	double *part;
	Int n, count;
};
KERNEL(squares, Squares) {
	Int size = (k.n + k.count - 1) / k.count;
	for (Int c = blockIdx.x; c < k.count; c += gridDim.x) {
		Int end = (c + 1) * size < k.n ? (c + 1) * size : k.n;
		double sum = 0;
		for (Int i = c * size + threadIdx.x; i < end; i += blockDim.x) {
			double v = k.x[i];
			sum += v * v;
		}
		sum = together<Add>(sum);
		if (threadIdx.x == 0) k.part[c] = sum;
	}
}
// Adds up the chunks; one block.
struct Join {
	Any out;
	const double *part;
	Int at, count;
};
KERNEL(squares_join, Join) {
	double sum = 0;
	for (Int c = threadIdx.x; c < k.count; c += blockDim.x) sum += k.part[c];
	sum = together<Add>(sum);
	if (threadIdx.x == 0) k.out.set(k.at, sum);
}

__device__ inline double limit(double g, double most) { return most < 0 ? g : g < -most ? -most
	: g > most ? most : g; }

// The direction of a step of LAMB.
struct Direction {
	Any out, weight, grad, mean, var;
	Int n;
	double beta1, beta2, eps, wd, rescale, most, c1, c2; // c1, c2: bias corrections of the means
};
KERNEL(direction, Direction) {
	EACH(i, k.n) {
		double w = k.weight[i], g = limit(k.rescale * k.grad[i], k.most);
		double m = k.beta1 * k.mean[i] + (1 - k.beta1) * g,
			v = k.beta2 * k.var[i] + (1 - k.beta2) * g * g;
		k.mean.set(i, m), k.var.set(i, v);
		k.out.set(i, m / k.c1 / (sqrt(v / k.c2) + k.eps) + k.wd * w);
	}
}

// The step along the direction. r1 and r2 hold one norm each, or with squared its square.
struct Along {
	Any out, weight, g, r1, r2, exact; // exact: the weight before rounding to out; may be missing
	Int n, squared;
	double lr, lower, upper;
};
KERNEL(along, Along) {
	double r1 = k.r1[0], r2 = k.r2[0], trust = 1;
	if (k.squared) r1 = sqrt(r1), r2 = sqrt(r2);
	if (k.lower >= 0 && r1 < k.lower) r1 = k.lower;
	if (k.upper >= 0 && r1 > k.upper) r1 = k.upper;
	if (r1 != 0 && r2 != 0) trust = r1 / r2;
	EACH(i, k.n) {
		double w = k.weight[i] - k.lr * trust * k.g[i];
		if (k.exact.p) k.exact.set(i, w), w = k.exact[i];
		k.out.set(i, w);
	}
}

// Learning rates scaled by the ratio of the norms of each layer.
struct Lars {
	Any out, lrs, weights, grads, wds;
	Int n;
	double eta, eps, rescale;
};
KERNEL(lars, Lars) {
	EACH(i, k.n) {
		double w = sqrt(k.weights[i]), g = sqrt(k.grads[i]) * k.rescale, lr = k.lrs[i];
		k.out.set(i, w > 0 && g > 0 ? lr * (k.eta * w / (g + k.wds[i] * w + k.eps)) : lr);
	}
}

// AdaGrad with a history per row; one block per row.
struct RowStep {
	Any out, weight, grad, history;
	Int rows, width;
	double lr, rescale, most, eps;
};
KERNEL(row_adagrad, RowStep) {
	for (Int r = blockIdx.x; r < k.rows; r += gridDim.x) {
		double sum = 0;
		for (Int i = threadIdx.x; i < k.width; i += blockDim.x) {
			double g = limit(k.rescale * k.grad[r * k.width + i], k.most);
			sum += g * g;
		}
		double h = k.history[r] + together<Add>(sum) / (double)k.width;
		for (Int i = threadIdx.x; i < k.width; i += blockDim.x) {
			Int at = r * k.width + i;
			k.out.set(at, k.weight[at] - k.lr * limit(k.rescale * k.grad[at], k.most) /
				sqrt(h + k.eps));
		}
		__syncthreads();
		if (threadIdx.x == 0) k.history.set(r, h);
	}
}
