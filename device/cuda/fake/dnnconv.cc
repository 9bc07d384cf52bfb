// Convolutions of the imitated cuDNN.

#include "dnn.h"

namespace {

struct Conv {
	int n = 0, pad[axes], stride[axes], dilate[axes], compute, groups = 1, math = 0;
};
struct Perf {
	int algo, status;
	float time;
	size_t memory;
	int determinism, math, reserved[3];
};

// The algorithms: the fastest is not repeatable, the next fails when it is tried, the third needs
// memory, the fourth is slow.
const int algorithms = 4;
size_t memory_of(int algo, const Array *to) {
	size_t n = 1;
	for (int i = 0; i < to->n; i++) n *= to->dims[i];
	return algo == 2 ? 64 + n * 8 : 0;
}

// Work is one convolution, forward or backward. It holds copies of the descriptors, which the
// program may free before the work runs.
struct Work {
	int kind, algo;
	Array x, w, y;
	Conv c;
	double alpha, beta;
	const void *a, *b;
	void *to, *space;
	size_t bytes;
};

bool channels_last(const Array *x, const Array *w, const Array *y) {
	return x->last && w->last && y->last;
}

// lacks reports whether a convolution that fits is one that the library does not compute: with the
// channels last it takes no float64 and two spatial axes only, and no gradient of the weights of
// groups, by which tests reach our own way.
bool lacks(int kind, const Array *x, const Array *w, const Array *y, const Conv *c) {
	if (x->dense && w->dense && y->dense) return false;
	return x->type == 1 || x->n != 4 || (kind == 2 && c->groups > 1);
}

// on_tensor_cores reports whether an algorithm may use them: channels of a group come by eights.
bool on_tensor_cores(const Array *x, const Array *w, const Array *y, const Conv *c) {
	return x->type >= 2 && w->dims[1] % 8 == 0 && y->dims[1] / c->groups % 8 == 0;
}

bool fits(const Array *x, const Array *w, const Array *y, const Conv *c) {
	if (x->type != w->type || x->type != y->type || x->n != w->n || x->n != y->n ||
		c->n != x->n - 2 || x->n < 4)
		return false;
	// Data, weights and results have one order.
	if (!(x->dense && w->dense && y->dense) && !channels_last(x, w, y)) return false;
	if (!w->filter || x->filter || y->filter || c->compute != (x->type == 1 ? 1 : 0)) return false;
	if (x->dims[0] != y->dims[0] || w->dims[0] != y->dims[1] ||
		w->dims[1] * c->groups != x->dims[1] || y->dims[1] % c->groups)
		return false;
	if (c->math == 1 && x->type < 2) return false;
	for (int i = 0; i < c->n; i++) {
		int window = c->dilate[i] * (w->dims[2 + i] - 1) + 1;
		if (y->dims[2 + i] != (x->dims[2 + i] + 2 * c->pad[i] - window) / c->stride[i] + 1)
			return false;
	}
	return true;
}

// Extents with leading axes of extent one for missing axes.
struct Box {
	int d[axes] = {1, 1, 1};
	Box(const int *dims, int n) {
		for (int i = 0; i < n; i++) d[axes - n + i] = dims[i];
	}
	long size() const { return (long)d[0] * d[1] * d[2]; }
};

// Steps are the distances between elements of an array along its axes.
struct Steps {
	long outer, inner, d[axes] = {0, 0, 0};
	Steps(const Array &a) : outer(a.strides[0]), inner(a.strides[1]) {
		for (int i = 2; i < a.n; i++) d[axes - a.n + i] = a.strides[i];
	}
	long at(long o, long i, const long *p) const {
		return o * outer + i * inner + p[0] * d[0] + p[1] * d[1] + p[2] * d[2];
	}
};

void run(const void *arg) {
	const Work &k = *(const Work *)arg;
	int n = k.c.n, type = k.x.type, groups = k.c.groups, outs = k.y.dims[1] / groups,
		ins = k.w.dims[1];
	Box x(k.x.dims + 2, n), w(k.w.dims + 2, n), y(k.y.dims + 2, n), pad(k.c.pad, n),
		stride(k.c.stride, n), dilate(k.c.dilate, n);
	for (int i = 0; i < axes - n; i++) pad.d[i] = 0;
	const void *a = host((void *)k.a), *b = host((void *)k.b);
	void *to = host(k.to);
	if (k.bytes) memset(host(k.space), 0x7f, k.bytes);
	const Array &r = k.kind == 0 ? k.y : k.kind == 1 ? k.x : k.w;
	long total = 1;
	for (int i = 0; i < r.n; i++) total *= r.dims[i];
	double *sum = (double *)calloc(total, sizeof(double));
	const Steps sx(k.x), sw(k.w), sy(k.y);
	for (long image = 0; image < k.x.dims[0]; image++)
		for (int o = 0; o < k.y.dims[1]; o++)
			for (int i = 0; i < ins; i++)
				for (long at = 0; at < y.size(); at++)
					for (long tap = 0; tap < w.size(); tap++) {
						long p[axes] = {at / (y.d[1] * y.d[2]), at / y.d[2] % y.d[1], at % y.d[2]};
						long t[axes] = {tap / (w.d[1] * w.d[2]), tap / w.d[2] % w.d[1],
							tap % w.d[2]};
						long from[axes];
						bool inside = true;
						for (int d = 0; d < axes; d++) {
							from[d] = p[d] * stride.d[d] + t[d] * dilate.d[d] - pad.d[d];
							inside = inside && from[d] >= 0 && from[d] < x.d[d];
						}
						if (!inside) continue;
						long ix = sx.at(image, o / outs * ins + i, from), iw = sw.at(o, i, t),
							iy = sy.at(image, o, p);
						if (k.kind == 0) sum[iy] += load(a, type, ix) * load(b, type, iw);
						if (k.kind == 1) sum[ix] += load(a, type, iw) * load(b, type, iy);
						if (k.kind == 2) sum[iw] += load(a, type, ix) * load(b, type, iy);
					}
	for (long i = 0; i < total; i++)
		store(to, type, i, k.alpha * sum[i] + (k.beta != 0 ? k.beta * load(to, type, i) : 0));
	free(sum);
}

void spoil(const void *arg) {
	const Work &k = *(const Work *)arg;
	const Array &r = k.kind == 0 ? k.y : k.kind == 1 ? k.x : k.w;
	long total = 1;
	for (int i = 0; i < r.n; i++) total *= r.dims[i];
	for (long i = 0; i < total; i++) store(host(k.to), r.type, i, 1e4);
}

// order finds x, w and y among the descriptors of a kind of work.
void order(int kind, const void *a, const void *b, const void *to, const Array **x, const Array **w,
	const Array **y) {
	const Array *l[3] = {(const Array *)a, (const Array *)b, (const Array *)to};
	*x = kind == 0 ? l[0] : kind == 1 ? l[2] : l[0];
	*w = kind == 0 ? l[1] : kind == 1 ? l[0] : l[2];
	*y = kind == 0 ? l[2] : l[1];
}

int find(int kind, void *h, const void *da, const void *a, const void *db, const void *b,
	const void *conv, const void *dto, void *to, int most, int *found,
         Perf *list, void *space, size_t bytes) {
	const Array *x, *w, *y;
	order(kind, da, db, dto, &x, &w, &y);
	if (!fits(x, w, y, (const Conv *)conv)) return bad_param;
	if (lacks(kind, x, w, y, (const Conv *)conv)) return not_supported;
	if (odd({a, b, to})) return misaligned;
	const int math = ((const Conv *)conv)->math;
	Work k{kind, 0, *x, *w, *y, *(const Conv *)conv, 1, 0, a, b, to, space, 0};
	// As in cuDNN, a measurement overwrites the result
	put(((Handle *)h)->stream, spoil, &k, sizeof k);
	*found = 0;
	for (int i = 0; i < algorithms && i < most; i++) {
		size_t need = memory_of(i, (const Array *)dto);
		list[(*found)++] = Perf{i, i == 1 || need > bytes ? not_supported : 0,
			i == 1 ? -1.0f : 0.1f * (i + 1), need, i != 0,
			math == 1 && !on_tensor_cores(x, w, y, (const Conv *)conv) ? 0 : math, {}};
	}
	return ok;
}

int size(int, const void *dto, int algo, size_t *bytes) {
	if (algo < 0 || algo >= algorithms || algo == 1) return not_supported;
	*bytes = memory_of(algo, (const Array *)dto);
	return ok;
}

int compute(int kind, void *h, const void *alpha, const void *da, const void *a, const void *db,
	const void *b, const void *conv, int algo, void *space,
            size_t bytes, const void *beta, const void *dto, void *to) {
	const Array *x, *w, *y;
	order(kind, da, db, dto, &x, &w, &y);
	if (!fits(x, w, y, (const Conv *)conv)) return bad_param;
	if (lacks(kind, x, w, y, (const Conv *)conv)) return not_supported;
	if (odd({a, b, to})) return misaligned;
	if (algo < 0 || algo >= algorithms || algo == 1 || bytes < memory_of(algo, (const Array *)dto))
		return not_supported;
	bool doubles = x->type == 1;
	Work k{kind, algo, *x, *w, *y, *(const Conv *)conv, 0, 0, a, b, to, space,
		memory_of(algo, (const Array *)dto)};
	k.alpha = doubles ? *(const double *)alpha : *(const float *)alpha;
	k.beta = doubles ? *(const double *)beta : *(const float *)beta;
	put(((Handle *)h)->stream, run, &k, sizeof k);
	return ok;
}

} // namespace

extern "C" {

int cudnnCreateFilterDescriptor(void **d) {
	Array *a = new Array;
	a->filter = true;
	*d = a;
	return ok;
}
int cudnnSetFilterNdDescriptor(void *d, int type, int format, int n, const int *dims) {
	Array *a = (Array *)d;
	if (n < 4 || n > 2 + axes || format < 0 || format > 1) return bad_param;
	for (int i = 0; i < n; i++) {
		if (dims[i] < 1) return bad_param;
		a->dims[i] = dims[i];
	}
	a->type = type, a->n = n;
	a->pack(format == 1); // the extents have the order of row-major weights in both formats
	return ok;
}
int cudnnDestroyFilterDescriptor(void *d) {
	delete (Array *)d;
	return ok;
}
int cudnnCreateConvolutionDescriptor(void **d) {
	*d = new Conv;
	return ok;
}
int cudnnSetConvolutionNdDescriptor(void *d, int n, const int *pad, const int *stride,
	const int *dilate, int mode, int compute) {
	Conv *c = (Conv *)d;
	if (n < 2 || n > axes || mode != 1) return bad_param;
	c->n = n, c->compute = compute;
	for (int i = 0; i < n; i++) {
		if (pad[i] < 0 || stride[i] < 1 || dilate[i] < 1) return bad_param;
		c->pad[i] = pad[i], c->stride[i] = stride[i], c->dilate[i] = dilate[i];
	}
	return ok;
}
int cudnnSetConvolutionGroupCount(void *d, int groups) {
	((Conv *)d)->groups = groups;
	return groups < 1 ? bad_param : ok;
}
int cudnnSetConvolutionMathType(void *d, int math) {
	((Conv *)d)->math = math;
	return math < 0 || math > 3 ? bad_param : ok;
}
int cudnnDestroyConvolutionDescriptor(void *d) {
	delete (Conv *)d;
	return ok;
}

#define KIND(number, name) \
	int cudnnFindConvolution##name##AlgorithmEx(void *h, const void *da, const void *a, const void *db, const void *b, const void *c, const void *dto, void *to, int most, \
	                                            int *found, Perf *list, void *space, size_t bytes) { \
		return find(number, h, da, a, db, b, c, dto, to, most, found, list, space, bytes); \
	} \
	int cudnnGetConvolution##name##WorkspaceSize(void *, const void *, const void *, const void *, const void *dto, int algo, size_t *bytes) { \
		return size(number, dto, algo, bytes); \
	} \
	int cudnnConvolution##name(void *h, const void *alpha, const void *da, const void *a, const void *db, const void *b, const void *c, int algo, void *space, size_t bytes, \
	                           const void *beta, const void *dto, void *to) { \
		return compute(number, h, alpha, da, a, db, b, c, algo, space, bytes, beta, dto, to); \
	}
KIND(0, Forward)
KIND(1, BackwardData)
KIND(2, BackwardFilter)

} // extern "C"
