// Pooling, softmax and batch normalization of the imitated cuDNN.

#include "dnn.h"

namespace {

struct Pooling {
	int mode = -1, n = 0, window[axes], pad[axes], stride[axes];
};

// Place is a position in an array by its indices, which advance in row-major order.
struct Place {
	int at[2 + axes] = {0};
	bool next(const Array &a) {
		for (int i = a.n - 1; i >= 0; i--) {
			if (++at[i] < a.dims[i]) return true;
			at[i] = 0;
		}
		return false;
	}
	long in(const Array &a) const {
		long sum = 0;
		for (int i = 0; i < a.n; i++) sum += (long)at[i] * a.strides[i];
		return sum;
	}
};

// Work is one layer with copies of its descriptors, which the program may free before the work
// runs.
struct Work {
	Pooling p;
	Array x, y;
	int mode;
	double alpha, beta, eps;
	const void *in, *out, *grad;
	void *to;
	const void *gamma, *shift;
	void *mean, *spread, *dgamma, *dbeta;
};

// The window of one output: its first and its last position in the data.
struct Window {
	Place lo, hi;
	long inside = 1, all = 1;
	Window(const Work &k, const Place &y) {
		lo.at[0] = hi.at[0] = y.at[0], lo.at[1] = hi.at[1] = y.at[1];
		for (int i = 0; i < k.p.n; i++) {
			int from = y.at[2 + i] * k.p.stride[i] - k.p.pad[i], to = from + k.p.window[i] - 1;
			lo.at[2 + i] = from < 0 ? 0 : from,
				hi.at[2 + i] = to < k.x.dims[2 + i] ? to : k.x.dims[2 + i] - 1;
			inside *= hi.at[2 + i] - lo.at[2 + i] + 1, all *= k.p.window[i];
		}
	}
};
template <class F> void within(const Work &k, const Window &w, F f) {
	Place p = w.lo;
	for (;;) {
		f(p.in(k.x));
		int i = k.x.n - 1;
		for (; i >= 0 && p.at[i] == w.hi.at[i]; i--) p.at[i] = w.lo.at[i];
		if (i < 0) return;
		p.at[i]++;
	}
}

void pool(const void *arg) {
	const Work &k = *(const Work *)arg;
	const void *x = host((void *)k.in);
	void *y = host(k.to);
	Place at;
	do {
		Window w(k, at);
		double top = -INFINITY, sum = 0;
		within(k, w, [&](long i) {
			double v = load(x, k.x.type, i);
			top = v > top ? v : top, sum += v;
		});
		result(y, k.y.type, at.in(k.y), k.p.mode == 3 ? top
			: sum / (k.p.mode == 1 ? w.all : w.inside), k.alpha, k.beta);
	} while (at.next(k.y));
}

// span returns the number of elements from the first of an array to its last, gaps included.
long span(const Array &a) {
	long n = 1;
	for (int i = 0; i < a.n; i++) n += (long)(a.dims[i] - 1) * a.strides[i];
	return n;
}

void pool_back(const void *arg) {
	const Work &k = *(const Work *)arg;
	const void *x = host((void *)k.in), *y = host((void *)k.out), *dy = host((void *)k.grad);
	double *sums = (double *)calloc(span(k.x), sizeof *sums);
	Place at;
	do {
		Window w(k, at);
		double d = load(dy, k.y.type, at.in(k.y)),
			top = k.p.mode == 3 ? load(y, k.y.type, at.in(k.y)) : 0;
		bool given = false;
		within(k, w, [&](long i) {
			if (k.p.mode != 3) {
				sums[i] += d / (k.p.mode == 1 ? w.all : w.inside);
			} else if (!given && load(x, k.x.type, i) == top) {
				sums[i] += d, given = true;
			}
		});
	} while (at.next(k.y));
	void *dx = host(k.to);
	Place p;
	do result(dx, k.x.type, p.in(k.x), sums[p.in(k.x)], k.alpha, k.beta);
	while (p.next(k.x));
	free(sums);
}

// softmax computes along axis 1 of [n][c][h·w].
void softmax(const void *arg) {
	const Work &k = *(const Work *)arg;
	const void *x = host((void *)k.in), *out = host((void *)k.out), *dy = host((void *)k.grad);
	void *to = host(k.to);
	long c = k.x.dims[1], inner = (long)k.x.dims[2] * k.x.dims[3], lanes = k.x.dims[0] * inner;
	for (long lane = 0; lane < lanes; lane++) {
		long first = lane / inner * c * inner + lane % inner;
		double top = -INFINITY, sum = 0;
		for (long i = 0; i < c; i++) {
			long e = first + i * inner;
			if (!k.grad) top = fmax(top, load(x, k.x.type, e));
			else sum += load(dy, k.x.type, e) * (k.mode == 2 ? 1 : load(out, k.x.type, e));
		}
		for (long i = 0; i < c && !k.grad; i++)
			sum += exp(load(x, k.x.type, first + i * inner) - top);
		for (long i = 0; i < c; i++) {
			long e = first + i * inner;
			double v;
			if (k.grad) {
				double y = load(out, k.x.type, e), d = load(dy, k.x.type, e);
				v = k.mode == 2 ? d - exp(y) * sum : y * (d - sum);
			} else {
				double d = load(x, k.x.type, e) - top;
				v = k.mode == 2 ? d - log(sum) : exp(d) / sum;
			}
			result(to, k.x.type, e, v, k.alpha, k.beta);
		}
	}
}

// channel calls f for the elements of channel c.
template <class F> void channel(const Array &x, long c, F f) {
	long inner = x.size() / x.dims[0] / x.dims[1];
	for (long o = 0; o < x.dims[0]; o++)
		for (long i = 0; i < inner; i++)
			f(x.dense ? (o * x.dims[1] + c) * inner + i : (o * inner + i) * x.dims[1] + c);
}

void norm(const void *arg) {
	const Work &k = *(const Work *)arg;
	const void *x = host((void *)k.in), *gamma = host((void *)k.gamma),
		*shift = host((void *)k.shift);
	void *to = host(k.to), *mean = host(k.mean), *spread = host(k.spread);
	int type = k.x.type, stat = type == 1;
	long n = k.x.size() / k.x.dims[1];
	for (long c = 0; c < k.x.dims[1]; c++) {
		double m = 0, v = 0;
		if (k.mode == 1) {
			channel(k.x, c, [&](long i) { m += load(x, type, i) / n; });
			channel(k.x, c, [&](long i) { v += pow(load(x, type, i) - m, 2) / n; });
			store(mean, stat, c, m), store(spread, stat, c, 1 / sqrt(v + k.eps));
		} else {
			m = load(mean, stat, c), v = load(spread, stat, c);
		}
		double a = load(gamma, stat, c) / sqrt(v + k.eps), b = load(shift, stat, c);
		channel(k.x, c, [&](long i) { result(to, type, i, (load(x, type, i) - m) * a + b, k.alpha,
			k.beta); });
	}
}

void norm_back(const void *arg) {
	const Work &k = *(const Work *)arg;
	const void *x = host((void *)k.in), *dy = host((void *)k.grad), *gamma = host((void *)k.gamma),
		*mean = host(k.mean), *inv = host(k.spread);
	void *to = host(k.to), *dgamma = host(k.dgamma), *dbeta = host(k.dbeta);
	int type = k.x.type, stat = type == 1;
	long n = k.x.size() / k.x.dims[1];
	for (long c = 0; c < k.x.dims[1]; c++) {
		double m = load(mean, stat, c), s = load(inv, stat, c), g = load(gamma, stat, c), sum = 0,
			dot = 0;
		channel(k.x, c, [&](long i) { sum += load(dy, type, i),
			dot += load(dy, type, i) * (load(x, type, i) - m) * s; });
		channel(k.x, c, [&](long i) {
			double hat = (load(x, type, i) - m) * s;
			result(to, type, i, g * s * (load(dy, type, i) - sum / n - hat * dot / n), k.alpha,
				k.beta);
		});
		store(dgamma, stat, c, dot), store(dbeta, stat, c, sum);
	}
}

// pools reports whether the extents of a pooling layer fit together.
bool pools(const Pooling *p, const Array *x, const Array *y) {
	if (p->mode < 0 || x->type != y->type || x->n != y->n || p->n != x->n - 2 ||
		x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
		return false;
	for (int i = 0; i < p->n; i++)
		if (y->dims[2 + i] != (x->dims[2 + i] + 2 * p->pad[i] - p->window[i]) / p->stride[i] + 1 ||
			p->pad[i] >= p->window[i])
			return false;
	return true;
}

// normalizes reports whether x, its result or gradient (twin) and its statistics fit together. The
// mode per activation supports a limited number of rows.
int normalizes(int mode, const Array *x, const Array *twin, const Array *stats, const void *alpha,
	const void *beta, double eps) {
	if (!x->like(twin) || (!x->dense && !x->last) || x->n < 4 || eps < 0 ||
		scale(alpha, x->type) != 1 || scale(beta, x->type) != 0)
		return bad_param;
	if (stats->type != (x->type == 1) || stats->dims[1] != x->dims[1] ||
		stats->size() != x->dims[1])
		return bad_param;
	if (mode == 0 && !x->dense) return bad_param;
	if (mode == 0)
		return x->dims[0] > 65535 || x->size() != (long)x->dims[0] * x->dims[1] ? not_supported
			: ok;
	return mode == 1 ? ok : not_supported;
}

int start(void *h, void (*f)(const void *), const Work &k) {
	if (odd({k.in, k.out, k.grad, k.to, k.gamma, k.shift, k.mean, k.spread, k.dgamma, k.dbeta}))
		return misaligned;
	put(((Handle *)h)->stream, f, &k, sizeof k);
	return ok;
}

} // namespace

extern "C" {

int cudnnCreatePoolingDescriptor(void **d) {
	*d = new Pooling;
	return ok;
}
int cudnnSetPoolingNdDescriptor(void *d, int mode, int nan, int n, const int *window,
	const int *pad, const int *stride) {
	Pooling *p = (Pooling *)d;
	// Mode 0 would not repeat
	if (mode < 1 || mode > 3 || nan != 0 || n < 2 || n > axes) return bad_param;
	p->mode = mode, p->n = n;
	for (int i = 0; i < n; i++) {
		if (window[i] < 1 || pad[i] < 0 || stride[i] < 1) return bad_param;
		p->window[i] = window[i], p->pad[i] = pad[i], p->stride[i] = stride[i];
	}
	return ok;
}
int cudnnDestroyPoolingDescriptor(void *d) {
	delete (Pooling *)d;
	return ok;
}
int cudnnPoolingForward(void *h, const void *d, const void *alpha, const void *dx, const void *x,
	const void *beta, const void *dy, void *y) {
	const Array *a = (const Array *)dx, *b = (const Array *)dy;
	if (!pools((const Pooling *)d, a, b)) return bad_param;
	if (a->type == 9) return not_supported; // tests use it to reach our own kernels
	if (a->dims[1] == 13) return bad_param; // and this, as some versions do
	Work k{*(const Pooling *)d, *a, *b};
	k.alpha = scale(alpha, a->type), k.beta = scale(beta, a->type), k.in = x, k.to = y;
	return start(h, pool, k);
}
int cudnnPoolingBackward(void *h, const void *d, const void *alpha, const void *dy_, const void *y,
	const void *dg_, const void *dy, const void *dx_, const void *x,
                         const void *beta, const void *dd_, void *dx) {
	const Array *a = (const Array *)dx_, *b = (const Array *)dy_;
	if (!pools((const Pooling *)d, a, b) || !b->like((const Array *)dg_) ||
		!a->like((const Array *)dd_) || !x || !y || !dy)
		return bad_param;
	if (a->type == 9) return not_supported;
	Work k{*(const Pooling *)d, *a, *b};
	k.alpha = scale(alpha, a->type), k.beta = scale(beta, a->type), k.in = x, k.out = y,
		k.grad = dy, k.to = dx;
	return start(h, pool_back, k);
}

int cudnnSoftmaxForward(void *h, int algorithm, int mode, const void *alpha, const void *dx,
	const void *x, const void *beta, const void *dy, void *y) {
	const Array *a = (const Array *)dx;
	if (!a->like((const Array *)dy) || !a->dense || a->n != 4 || mode != 1 || algorithm < 1 ||
		algorithm > 2)
		return bad_param;
	Work k{{}, *a, *a, algorithm};
	k.alpha = scale(alpha, a->type), k.beta = scale(beta, a->type), k.in = x, k.to = y;
	return start(h, softmax, k);
}
int cudnnSoftmaxBackward(void *h, int algorithm, int mode, const void *alpha, const void *dy_,
	const void *y, const void *dg_, const void *dy, const void *beta,
                         const void *dx_, void *dx) {
	const Array *a = (const Array *)dy_;
	if (!a->like((const Array *)dg_) || !a->like((const Array *)dx_) || !a->dense || a->n != 4 ||
		mode != 1 || algorithm < 1 || algorithm > 2)
		return bad_param;
	Work k{{}, *a, *a, algorithm};
	k.alpha = scale(alpha, a->type), k.beta = scale(beta, a->type), k.out = y, k.grad = dy,
		k.to = dx;
	return start(h, softmax, k);
}

int cudnnDeriveBNTensorDescriptor(void *d, const void *dx, int mode) {
	const Array *x = (const Array *)dx;
	Array *a = (Array *)d;
	*a = *x;
	a->type = x->type == 1;
	for (int i = 0; i < a->n; i++)
		if (i == 0 || (i > 1 && mode == 1)) a->dims[i] = 1;
	return ok;
}
int cudnnBatchNormalizationForwardInference(void *h, int mode, const void *alpha, const void *beta,
	const void *dx, const void *x, const void *dy, void *y,
                                            const void *ds, const void *gamma, const void *shift,
	const void *mean, const void *var, double eps) {
	const Array *a = (const Array *)dx;
	int err = normalizes(mode, a, (const Array *)dy, (const Array *)ds, alpha, beta, eps);
	if (err || x == y) return err ? err : bad_param;
	Work k{{}, *a, *a, 0, 1, 0, eps, x, nullptr, nullptr, y, gamma, shift, (void *)mean,
		(void *)var};
	return start(h, norm, k);
}
int cudnnBatchNormalizationForwardTraining(void *h, int mode, const void *alpha, const void *beta,
	const void *dx, const void *x, const void *dy, void *y,
                                           const void *ds, const void *gamma, const void *shift,
	double, void *moving_mean, void *moving_var, double eps, void *mean,
                                           void *inv) {
	const Array *a = (const Array *)dx;
	int err = normalizes(mode, a, (const Array *)dy, (const Array *)ds, alpha, beta, eps);
	if (err || x == y || moving_mean || moving_var || !mean || !inv) return err ? err : bad_param;
	Work k{{}, *a, *a, 1, 1, 0, eps, x, nullptr, nullptr, y, gamma, shift, mean, inv};
	return start(h, norm, k);
}
int cudnnBatchNormalizationBackward(void *h, int mode, const void *alpha, const void *beta,
	const void *alpha_p, const void *beta_p, const void *dx_, const void *x,
                                    const void *dg_, const void *dy, const void *dd_, void *dx,
	const void *ds, const void *gamma, void *dgamma, void *dbeta, double eps,
                                    const void *mean, const void *inv) {
	const Array *a = (const Array *)dx_;
	int err = normalizes(mode, a, (const Array *)dg_, (const Array *)ds, alpha, beta, eps);
	if (err || !a->like((const Array *)dd_) || dx == x || dx == dy || !dgamma || !dbeta || !mean ||
		!inv)
		return err ? err : bad_param;
	if (scale(alpha_p, a->type) != 1 || scale(beta_p, a->type) != 0) return bad_param;
	Work k{{}, *a, *a, 0, 1, 0, eps, x, nullptr, dy, dx, gamma, nullptr, (void *)mean, (void *)inv,
		dgamma, dbeta};
	return start(h, norm_back, k);
}

} // extern "C"
