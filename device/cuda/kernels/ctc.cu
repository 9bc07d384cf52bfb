// Connectionist temporal classification (Graves et al. 2006): loss and derivative by the
// forward-backward algorithm on logarithms; one block per sample. Element types are known at run
// time.

struct CTC {
	// Steps_of missing: all steps; labels_of missing: labels up to the padding
	Any loss, grad, x, label, steps_of, labels_of;
	// Per sample: steps · classes and twice steps · width
	double *scratch;
	Int steps, batch, classes, labels, blank;
	double padding;
};

__device__ inline double log_sum(double a, double b) {
	if (a < b) {
		double c = a;
		a = b, b = c;
	}
	return a == -INFINITY ? a : a + log1p(exp(b - a));
}

__device__ inline Int ctc_class(const CTC &k, Int b, Int position) {
	if (position % 2 == 0) return k.blank;
	Int c = k.label.integer(b * k.labels + position / 2);
	return c < 0 ? 0 : c < k.classes ? c : k.classes - 1;
}
__device__ inline bool ctc_skips(const CTC &k, Int b,
	Int p) { return p >= 2 && p % 2 == 1 && ctc_class(k, b, p) != ctc_class(k, b, p - 2); }

__device__ inline void ctc_softmax(const CTC &k, Int b, Int steps, double *p) {
	for (Int t = threadIdx.x; t < steps; t += blockDim.x) {
		Int from = (t * k.batch + b) * k.classes;
		double top = -INFINITY, sum = 0;
		for (Int c = 0; c < k.classes; c++) top = gx_max(top, k.x[from + c]);
		for (Int c = 0; c < k.classes; c++) sum += p[t * k.classes + c] = exp(k.x[from + c] - top);
		for (Int c = 0; c < k.classes; c++) p[t * k.classes + c] /= sum;
	}
}
// Logarithms of the probabilities, per step and position of the label with blanks, of all paths up
// to there (alpha) and of all paths after it (beta).
__device__ inline void ctc_paths(const CTC &k, Int b, Int steps, Int width, const double *p,
	double *alpha, double *beta) {
	for (Int t = 0; t < steps; t++) {
		for (Int i = threadIdx.x; i < width; i += blockDim.x) {
			double v = t == 0 && i < 2 ? 0 : -INFINITY;
			if (t > 0) {
				const double *last = alpha + (t - 1) * width;
				v = last[i];
				if (i > 0) v = log_sum(v, last[i - 1]);
				if (ctc_skips(k, b, i)) v = log_sum(v, last[i - 2]);
			}
			alpha[t * width + i] = v + log(p[t * k.classes + ctc_class(k, b, i)]);
		}
		Int s = steps - 1 - t;
		for (Int i = threadIdx.x; i < width; i += blockDim.x) {
			double v = t == 0 && i >= width - 2 ? 0 : -INFINITY;
			for (Int j = i; t > 0 && j < i + 3 && j < width; j++)
				if (j < i + 2 || ctc_skips(k, b, j))
					v = log_sum(v, beta[(s + 1) * width + j] +
						log(p[(s + 1) * k.classes + ctc_class(k, b, j)]));
			beta[s * width + i] = v;
		}
		__syncthreads();
	}
}

KERNEL(ctc, CTC) {
	for (Int b = blockIdx.x; b < k.batch; b += gridDim.x) {
		Int steps = k.steps, count = 0;
		if (k.steps_of.p)
			steps = k.steps_of.integer(b), steps = steps < 0 ? 0 : steps < k.steps ? steps
				: k.steps;
		if (k.labels_of.p)
			count = k.labels_of.integer(b), count = count < 0 ? 0 : count < k.labels ? count
				: k.labels;
		else
			while (count < k.labels && k.label[b * k.labels + count] != k.padding) count++;
		Int width = 2 * count + 1, need = count;
		for (Int i = 3; i < width; i += 2) need += ctc_class(k, b, i) == ctc_class(k, b, i - 2);
		bool fits = steps > 0 && need <= steps;
		double *p = k.scratch + b * k.steps * (k.classes + 2 * (2 * k.labels + 1)),
			*alpha = p + k.steps * k.classes, *beta = alpha + k.steps * width;
		if (fits) ctc_softmax(k, b, steps, p);
		__syncthreads();
		if (fits) ctc_paths(k, b, steps, width, p, alpha, beta);
		double total = 0;
		if (fits) {
			total = alpha[(steps - 1) * width + width - 1];
			if (width > 1) total = log_sum(total, alpha[(steps - 1) * width + width - 2]);
		}
		if (threadIdx.x == 0 && k.loss.p) k.loss.set(b, fits ? -total : 0);
		for (Int t = threadIdx.x; t < k.steps && k.grad.p; t += blockDim.x) {
			bool part = fits && t < steps;
			for (Int i = 0; part && i < width; i++)
				p[t * k.classes + ctc_class(k, b, i)] -=
					exp(alpha[t * width + i] + beta[t * width + i] - total);
			for (Int c = 0; c < k.classes; c++)
				k.grad.set((t * k.batch + b) * k.classes + c, part ? p[t * k.classes + c] : 0);
		}
		__syncthreads();
	}
}
