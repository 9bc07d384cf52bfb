// Heads of networks: arrays are [samples][classes][inner].

struct Head {
	T *out;
	const T *x;
	const T *label;
	Int samples, classes, inner, labels;
	double scale, alpha, ignore;
	Int use_ignore, times_out, by_valid, probabilities;
	double *valid; // number of labels that count
};

// Counts the labels that are not the ignored one; one block.
KERNEL(count_valid, Head) {
	double n = 0;
	for (Int i = threadIdx.x; i < k.labels; i += blockDim.x) n += (Int)get(k.label, i) != (Int)k.ignore;
	n = together<Add>(n);
	if (threadIdx.x == 0) *k.valid = n > 0 ? n : 1;
}

// The gradient of softmax with cross entropy from its output x.
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
