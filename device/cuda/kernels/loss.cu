// Loss layers: arrays are [samples][classes][inner].

struct Head {
	T *out;
	const T *x;
	const T *label;
	Int samples, classes, inner, labels;
	double scale, alpha, ignore;
	Int use_ignore, times_out, by_valid, probabilities;
	double *valid; // number of labels that count
};

// Counts the labels that are not the ignored label; one block.
KERNEL(count_valid, Head) {
	double n = 0;
	for (Int i = threadIdx.x; i < k.labels; i += blockDim.x)
		n += (Int)get(k.label, i) != (Int)k.ignore;
	n = together<Add>(n);
	if (threadIdx.x == 0) *k.valid = n > 0 ? n : 1;
}

// The gradient of softmax with cross entropy, from the softmax x.
KERNEL(softmax_head_grad, Head) {
	A scale = (A)k.scale;
	if (k.by_valid) scale = (A)(k.scale / *k.valid);
	EACH(i, k.samples * k.classes * k.inner) {
		A y = get(k.x, i), v = y;
		if (k.probabilities) {
			v -= get(k.label, i);
		} else {
			Int c = i / k.inner % k.classes, at = i / (k.classes * k.inner) * k.inner + i % k.inner;
			if (at < k.labels) {
				Int label = (Int)get(k.label, at);
				if (k.use_ignore && label == (Int)k.ignore) v = 0;
				else if (c == label) v -= 1 - (A)k.alpha;
				else v -= (A)(k.alpha / (double)(k.classes > 1 ? k.classes - 1 : 1));
			}
		}
		v *= scale;
		put(k.out, i, k.times_out ? v * y : v);
	}
}

// The gradient of hinge losses from the scores x, [samples][classes].
struct Hinge {
	T *out;
	const T *x, *label;
	Int samples, classes, linear;
	double margin, scale;
};
KERNEL(hinge_grad, Hinge) {
	EACH(i, k.samples * k.classes) {
		A side = i % k.classes == (Int)get(k.label, i / k.classes) ? (A)1 : (A)-1,
			miss = (A)k.margin - side * get(k.x, i);
		miss = miss > 0 ? (k.linear ? (A)0.5 : miss) : (A)0;
		put(k.out, i, (A)-2 * side * miss * (A)k.scale);
	}
}

// The cross entropy of the softmax of each row, one block per row, in double; and the sum of the
// rows.
struct Entropy {
	T *out;
	const T *x, *label, *head;
	double *row;
	Int rows, classes;
	double least; // lower bound of the probability
};
__device__ inline A shifted_sum(const Entropy &k, const T *x, A *top) {
	A most = -INFINITY, sum = 0;
	for (Int i = threadIdx.x; i < k.classes; i += blockDim.x) most = gx_max(most, get(x, i));
	*top = most = together<Most>(most);
	for (Int i = threadIdx.x; i < k.classes; i += blockDim.x) sum += gx_exp(get(x, i) - most);
	return together<Add>(sum);
}
KERNEL(entropy, Entropy) {
	for (Int r = blockIdx.x; r < k.rows; r += gridDim.x) {
		const T *x = k.x + r * k.classes;
		A top, sum = shifted_sum(k, x, &top);
		if (threadIdx.x != 0) continue;
		Int label = (Int)get(k.label, r);
		double p = k.least;
		if (label >= 0 && label < k.classes) {
			double own = (double)gx_exp(get(x, label) - top) / (double)sum;
			if (!(own < p)) p = own;
		}
		k.row[r] = -log(p);
	}
}
KERNEL(entropy_join, Entropy) { /* one block */
	double sum = 0;
	for (Int r = threadIdx.x; r < k.rows; r += blockDim.x) sum += k.row[r];
	sum = together<Add>(sum);
	if (threadIdx.x == 0) put(k.out, 0, (A)sum);
}
KERNEL(entropy_grad, Entropy) {
	A scale = get(k.head, 0);
	for (Int r = blockIdx.x; r < k.rows; r += gridDim.x) {
		const T *x = k.x + r * k.classes;
		A top, sum = shifted_sum(k, x, &top);
		Int label = (Int)get(k.label, r);
		for (Int i = threadIdx.x; i < k.classes; i += blockDim.x) {
			A p = gx_exp(get(x, i) - top) / sum;
			put(k.out, r * k.classes + i, scale * (i == label ? p - (A)1 : p));
		}
	}
}

// A constant divided by the number of elements above a threshold; one block counts the elements.
struct Valid {
	T *out;
	const T *x;
	double *count;
	Int n;
	double least, value;
};
KERNEL(valid_count, Valid) {
	double n = 0;
	for (Int i = threadIdx.x; i < k.n; i += blockDim.x) n += get(k.x, i) > (A)k.least;
	n = together<Add>(n);
	if (threadIdx.x == 0) *k.count = n > 0 ? n : 1;
}
KERNEL(valid_fill, Valid) {
	EACH(i, k.n) put(k.out, i, (A)(k.value / *k.count));
}

// Moving averages of the activations of units, [samples][units]; one block per unit.
struct Sparse {
	T *out, *average;
	const T *x;
	Int samples, units, train;
	double momentum, target, penalty;
};
KERNEL(sparse_average, Sparse) {
	for (Int u = blockIdx.x; u < k.units; u += gridDim.x) {
		double sum = 0;
		for (Int s = threadIdx.x; s < k.samples; s += blockDim.x)
			sum += (double)get(k.x, s * k.units + u);
		sum = together<Add>(sum);
		if (threadIdx.x != 0) continue;
		double a = (double)get(k.average, u);
		if (k.train) {
			a = a * k.momentum + (1 - k.momentum) * sum / (double)(k.samples > 0 ? k.samples : 1);
			put(k.average, u, (A)a);
		}
		if (k.out) put(k.out, u, (A)a);
	}
}
KERNEL(sparse_grad, Sparse) {
	EACH(i, k.samples * k.units) {
		double a = (double)get(k.average, i % k.units);
		put(k.out, i, get(k.x, i) + (A)(k.penalty * ((1 - k.target) / (1 - a) - k.target / a)));
	}
}
