// Recurrent layers of the imitated cuDNN. Parameters have no gaps if the size of a state is even,
// and gaps if it is odd, so that programs have to ask for positions. The reserve is large: every
// number in double, and the data that the gradient of the parameters reads.

#include "dnn.h"

#include <initializer_list>
#include <tuple>

namespace {

struct Net {
	bool ready = false;
	int mode, both, type, input, H, P, layers; // P: size of an output
	int gates() const { return mode == 2 ? 4 : mode == 3 ? 3 : 1; }
	int dirs() const { return both + 1; }
	int reads(int layer) const { return layer ? dirs() * P : input; }
};
struct Data {
	int type, steps, batch, numbers;
};

// Part is the position of a matrix of parameters and of its bias.
struct Part {
	long at = -1, rows = 0, cols = 0, bias = -1;
	long matrix() const { return rows * cols; }
};
long room(const Net &n, long size) { return n.H % 2 ? (size + 7) / 8 * 8 + 8 : size; }

// part finds gate id of a layer in one direction. If p is null it returns the number of all
// parameters.
long part(const Net &n, int layer, int id, Part *p) {
	long at = 0;
	int gates = n.gates();
	for (int l = 0; l < n.layers * n.dirs(); l++)
		for (int g = 0; g < 2 * gates + 1; g++) {
			Part q;
			q.rows = n.H, q.cols = g < gates ? n.reads(l / n.dirs()) : n.P;
			if (g == 2 * gates) {
				if (n.P == n.H) continue;
				q.rows = n.P, q.cols = n.H;
			}
			q.at = at;
			if (p && l == layer && (g == id || (g == 2 * gates && id == 8))) *p = q;
			at += room(n, q.matrix());
		}
	for (int l = 0; l < n.layers * n.dirs(); l++)
		for (int g = 0; g < 2 * gates; g++) {
			if (p && l == layer && g == id) p->bias = at;
			at += room(n, n.H);
		}
	return at;
}

size_t width(const Net &n) { return n.type == 1 ? 8 : n.type == 0 ? 4 : 2; }
size_t bytes(const Net &n) { return part(n, 0, 0, nullptr) * width(n); }

struct Work {
	Net n;
	// Kind: 0 inference, 1 training, 2 gradient of the data, 3 of the parameters
	int steps, batch, kind;
	const void *x, *hx, *cx, *w, *dy, *dhy, *dcy;
	void *y, *hy, *cy, *dx, *dhx, *dcx, *dw, *work, *reserve;
};

const size_t work_bytes = 192;

// Kept is the data of one direction of a layer that the forward pass keeps for the gradient, and
// that the gradient keeps for the gradient of the parameters.
struct Kept {
	double *gates, *cell, *inner, *full, *dgates, *dstate, *dout;
};
struct Space {
	double *p;
	size_t used = 0;
	double *take(size_t n) {
		used += n;
		return p ? p + used - n : nullptr;
	}
};
const int most = 16; // largest product of layers and directions
struct Memory {
	double *stage; // the last kind of work
	Kept k[most];
	double *out[most]; // outputs of layers
	size_t used;
	Memory(const Net &n, int steps, int batch, double *p) {
		Space s{p};
		size_t cells = (size_t)steps * batch, G = n.gates() * n.H;
		stage = s.take(1);
		for (int l = 0; l < n.layers * n.dirs(); l++) {
			k[l] = {s.take(cells * G), s.take(cells * n.H), s.take(cells * n.H),
				s.take(cells * n.H), s.take(cells * G), s.take(cells * G), s.take(cells * n.P)};
			if (l % n.dirs() == 0) out[l / n.dirs()] = s.take(cells * n.dirs() * n.P);
		}
		used = s.used * sizeof(double);
	}
};

double sigma(double v) { return 1 / (1 + exp(-v)); }

// Pass computes one direction of a layer, step by step.
struct Pass {
	const Work &k;
	const Net &n;
	Memory &m;
	int layer, dir, l;
	Part w[9];
	const void *x, *weights, *h0, *c0;
	Pass(const Work &k, Memory &m, int layer, int dir) : k(k), n(k.n), m(m), layer(layer), dir(dir),
		l(layer * k.n.dirs() + dir) {
		for (int g = 0; g < 9; g++) part(n, l, g, &w[g]);
		x = host((void *)k.x), weights = host((void *)k.w), h0 = host((void *)k.hx),
			c0 = host((void *)k.cx);
	}
	double parameter(long i) const { return load(weights, n.type, i); }
	double input(long cell, int i) const { return layer
		? m.out[layer - 1][cell * n.dirs() * n.P + i] : load(x, n.type, cell * n.input + i); }
	// before returns the cell of the previous step, -1 if there is none.
	long before(int t, int b) const {
		int from = dir ? t + 1 : t - 1;
		return from < 0 || from >= k.steps ? -1 : (long)from * k.batch + b;
	}
	double first(const void *p, int size, int b,
		int j) const { return p ? load(p, n.type, ((long)l * k.batch + b) * size + j) : 0; }
	double h(int t, int b, int j) const {
		long c = before(t, b);
		return c < 0 ? first(h0, n.P, b, j) : m.out[layer][(c * n.dirs() + dir) * n.P + j];
	}
	double c(int t, int b, int j) const {
		long at = before(t, b);
		return at < 0 ? first(c0, n.H, b, j) : m.k[l].cell[at * n.H + j];
	}
	int step(int i) const { return dir ? k.steps - 1 - i : i; }
};

void forward(Pass &p) {
	const Net &n = p.n;
	Kept &kept = p.m.k[p.l];
	int G = n.gates(), H = n.H;
	for (int i = 0; i < p.k.steps; i++)
		for (int b = 0; b < p.k.batch; b++) {
			int t = p.step(i);
			long cell = (long)t * p.k.batch + b;
			for (int j = 0; j < H; j++) {
				double a[4], r[4];
				for (int g = 0; g < G; g++) {
					const Part &in = p.w[g], &state = p.w[G + g];
					a[g] = p.parameter(in.bias + j), r[g] = p.parameter(state.bias + j);
					for (long e = 0; e < in.cols; e++)
						a[g] += p.parameter(in.at + j * in.cols + e) * p.input(cell, e);
					for (long e = 0; e < state.cols; e++)
						r[g] += p.parameter(state.at + j * state.cols + e) * p.h(t, b, e);
				}
				double *gate = kept.gates + cell * G * H + j, out;
				if (n.mode < 2) {
					double v = a[0] + r[0];
					out = gate[0] = n.mode ? tanh(v) : v > 0 ? v : 0;
				} else if (n.mode == 2) {
					for (int g = 0; g < 4; g++)
						gate[g * H] = g == 2 ? tanh(a[g] + r[g]) : sigma(a[g] + r[g]);
					double mem = kept.cell[cell * H + j] = gate[H] * p.c(t, b, j) +
						gate[0] * gate[2 * H];
					out = gate[3 * H] * tanh(mem);
				} else {
					double reset = gate[0] = sigma(a[0] + r[0]),
						update = gate[H] = sigma(a[1] + r[1]),
						fresh = gate[2 * H] = tanh(a[2] + reset * r[2]);
					kept.inner[cell * H + j] = r[2];
					out = fresh + update * (p.h(t, b, j) - fresh);
				}
				kept.full[cell * H + j] = out;
			}
			for (int j = 0; j < n.P; j++) {
				double v = n.P == H ? kept.full[cell * H + j] : 0;
				for (int e = 0; e < H && n.P != H; e++)
					v += p.parameter(p.w[8].at + j * H + e) * kept.full[cell * H + e];
				p.m.out[p.layer][(cell * n.dirs() + p.dir) * n.P + j] = v;
			}
		}
}

// last stores the states after the last step.
void last(Pass &p) {
	const Net &n = p.n;
	void *hy = host(p.k.hy), *cy = host(p.k.cy);
	for (int b = 0; b < p.k.batch; b++) {
		long cell = (long)p.step(p.k.steps - 1) * p.k.batch + b, state = (long)p.l * p.k.batch + b;
		for (int j = 0; j < n.P && hy; j++)
			store(hy, n.type, state * n.P + j,
				p.m.out[p.layer][(cell * n.dirs() + p.dir) * n.P + j]);
		for (int j = 0; j < n.H && cy && n.mode == 2; j++)
			store(cy, n.type, state * n.H + j, p.m.k[p.l].cell[cell * n.H + j]);
	}
}

// back computes the gradient of a layer's input from the gradient of its outputs and adds it to
// din.
void back(Pass &p, const double *dy, double *din) {
	const Net &n = p.n;
	Kept &kept = p.m.k[p.l];
	int G = n.gates(), H = n.H, B = p.k.batch;
	const void *dhy = host((void *)p.k.dhy), *dcy = host((void *)p.k.dcy);
	double *dh = (double *)calloc(B * n.P, sizeof *dh), *dc = (double *)calloc(B * H, sizeof *dc);
	for (int i = 0; i < B * n.P; i++) dh[i] = p.first(dhy, n.P, i / n.P, i % n.P);
	for (int i = 0; i < B * H; i++) dc[i] = p.first(dcy, H, i / H, i % H);
	for (int i = p.k.steps - 1; i >= 0; i--)
		for (int b = 0; b < B; b++) {
			int t = p.step(i);
			long cell = (long)t * B + b;
			double *dout = kept.dout + cell * n.P, *past = dh + b * n.P;
			for (int j = 0; j < n.P; j++)
				dout[j] = past[j] + dy[(cell * n.dirs() + p.dir) * n.P + j], past[j] = 0;
			for (int j = 0; j < H; j++) {
				double d = n.P == H ? dout[j] : 0, before = n.P == H ? p.h(t, b, j) : 0;
				for (int e = 0; e < n.P && n.P != H; e++)
					d += p.parameter(p.w[8].at + e * H + j) * dout[e];
				double *gate = kept.gates + cell * G * H + j, *to = kept.dgates + cell * G * H + j,
					*from = kept.dstate + cell * G * H + j;
				if (n.mode < 2) {
					to[0] = d * (n.mode ? 1 - gate[0] * gate[0] : gate[0] > 0);
				} else if (n.mode == 2) {
					double squashed = tanh(kept.cell[cell * H + j]), &mem = dc[b * H + j];
					mem += d * gate[3 * H] * (1 - squashed * squashed);
					to[0] = mem * gate[2 * H] * gate[0] * (1 - gate[0]),
						to[H] = mem * p.c(t, b, j) * gate[H] * (1 - gate[H]);
					to[2 * H] = mem * gate[0] * (1 - gate[2 * H] * gate[2 * H]),
						to[3 * H] = d * squashed * gate[3 * H] * (1 - gate[3 * H]);
					mem *= gate[H];
				} else {
					double fresh = d * (1 - gate[H]) * (1 - gate[2 * H] * gate[2 * H]);
					to[0] = fresh * kept.inner[cell * H + j] * gate[0] * (1 - gate[0]),
						to[H] = d * (before - gate[2 * H]) * gate[H] * (1 - gate[H]);
					to[2 * H] = fresh;
					past[j] += d * gate[H];
				}
				for (int g = 0; g < G; g++)
					from[g * H] = to[g * H] * (n.mode == 3 && g == 2 ? gate[0] : 1);
			}
			for (int g = 0; g < G; g++)
				for (int j = 0; j < H; j++) {
					const Part &in = p.w[g], &state = p.w[G + g];
					for (long e = 0; e < in.cols; e++)
						din[cell * in.cols + e] += kept.dgates[(cell * G + g) * H + j] *
							p.parameter(in.at + j * in.cols + e);
					for (long e = 0; e < state.cols; e++)
						past[e] += kept.dstate[(cell * G + g) * H + j] *
							p.parameter(state.at + j * state.cols + e);
				}
		}
	void *dhx = host(p.k.dhx), *dcx = host(p.k.dcx);
	for (int i = 0; i < B * n.P && dhx; i++) store(dhx, n.type, (long)p.l * B * n.P + i, dh[i]);
	for (int i = 0; i < B * H && dcx && n.mode == 2; i++)
		store(dcx, n.type, (long)p.l * B * H + i, dc[i]);
	free(dh), free(dc);
}

// weights adds the gradient of the parameters of one direction of a layer.
void weights(Pass &p) {
	const Net &n = p.n;
	Kept &kept = p.m.k[p.l];
	void *dw = host(p.k.dw);
	int G = n.gates(), H = n.H;
	auto add = [&](long i, double v) { store(dw, n.type, i, load(dw, n.type, i) + v); };
	for (int g = 0; g < G; g++)
		for (int j = 0; j < H; j++) {
			const Part &in = p.w[g], &state = p.w[G + g];
			auto over = [&](const double *d, auto value) {
				double sum = 0;
				for (int t = 0; t < p.k.steps; t++)
					for (int b = 0; b < p.k.batch; b++)
						sum += d[(((long)t * p.k.batch + b) * G + g) * H + j] * value(t, b);
				return sum;
			};
			add(in.bias + j, over(kept.dgates, [](int, int) { return 1.0; }));
			add(state.bias + j, over(kept.dstate, [](int, int) { return 1.0; }));
			for (long e = 0; e < in.cols; e++)
				add(in.at + j * in.cols + e, over(kept.dgates,
					[&](int t, int b) { return p.input((long)t * p.k.batch + b, e); }));
			for (long e = 0; e < state.cols; e++)
				add(state.at + j * state.cols + e,
					over(kept.dstate, [&](int t, int b) { return p.h(t, b, e); }));
		}
	for (int j = 0; j < n.P && n.P != H; j++)
		for (int e = 0; e < H; e++) {
			double sum = 0;
			for (long c = 0; c < (long)p.k.steps * p.k.batch; c++)
				sum += kept.dout[c * n.P + j] * kept.full[c * H + e];
			add(p.w[8].at + j * H + e, sum);
		}
}

// run does work of any kind. The reserve must show that the kind before it has run: otherwise the
// results are NaN.
void run(const void *arg) {
	const Work &k = *(const Work *)arg;
	const Net &n = k.n;
	memset(host(k.work), 0x7f, work_bytes);
	double *own = k.kind ? nullptr : (double *)calloc(Memory(n, k.steps, k.batch, nullptr).used, 1);
	Memory m(n, k.steps, k.batch, own ? own : (double *)host(k.reserve));
	bool in_order = k.kind < 2 || *m.stage == k.kind - 1;
	*m.stage = in_order ? k.kind : NAN;
	long outs = (long)k.steps * k.batch * n.dirs() * n.P, ins = (long)k.steps * k.batch * n.input;
	if (k.kind < 2) {
		for (int l = 0; l < n.layers * n.dirs(); l++) {
			Pass p(k, m, l / n.dirs(), l % n.dirs());
			forward(p), last(p);
		}
		void *y = host(k.y);
		for (long i = 0; i < outs; i++) store(y, n.type, i, m.out[n.layers - 1][i]);
	} else if (k.kind == 2) {
		const void *top = host((void *)k.dy);
		double *dy = (double *)calloc(outs, sizeof *dy);
		for (long i = 0; i < outs; i++) dy[i] = load(top, n.type, i);
		for (int layer = n.layers - 1; layer >= 0; layer--) {
			double *din = (double *)calloc(layer ? outs : ins, sizeof *din);
			for (int d = 0; d < n.dirs(); d++) {
				Pass p(k, m, layer, d);
				back(p, dy, din);
			}
			free(dy);
			dy = din;
		}
		void *dx = host(k.dx);
		for (long i = 0; i < ins; i++) store(dx, n.type, i, in_order ? dy[i] : NAN);
		free(dy);
	} else {
		for (int l = 0; l < n.layers * n.dirs(); l++) {
			Pass p(k, m, l / n.dirs(), l % n.dirs());
			weights(p);
		}
		if (!in_order) store(host(k.dw), n.type, 0, NAN);
	}
	free(own);
}

// fits reports whether descriptors and memory fit together.
bool fits(const Net *n, const Data *x, const Data *y, const Array *h, const Array *c,
	size_t weights, size_t work, size_t reserve, bool keeps) {
	if (!n->ready || x->type != n->type || y->type != n->type || x->steps != y->steps ||
		x->batch != y->batch || x->numbers != n->input)
		return false;
	if (y->numbers != n->dirs() * n->P || weights != bytes(*n) || work < work_bytes) return false;
	for (const Array *a : {h, c})
		if (a && (a->n != 3 || !a->dense || a->dims[0] != n->layers * n->dirs() ||
			a->dims[1] != x->batch || a->dims[2] != (a == h ? n->P : n->H)))
			return false;
	return !keeps || reserve >= Memory(*n, x->steps, x->batch, nullptr).used;
}

int start(void *h, const Work &k) {
	if (odd({k.x, k.hx, k.cx, k.w, k.dy, k.dhy, k.dcy, k.y, k.hy, k.cy, k.dx, k.dhx, k.dcx, k.dw}))
		return misaligned;
	put(((Handle *)h)->stream, run, &k, sizeof k);
	return ok;
}

} // namespace

extern "C" {

int cudnnCreateDropoutDescriptor(void **d) {
	*d = calloc(1, 8);
	return ok;
}
int cudnnSetDropoutDescriptor(void *, void *h, float p, void *states, size_t bytes,
	unsigned long long) {
	return !h || p != 0 || states || bytes ? bad_param : ok;
}
int cudnnDestroyDropoutDescriptor(void *d) {
	free(d);
	return ok;
}
int cudnnCreateRNNDescriptor(void **d) {
	*d = new Net;
	return ok;
}
int cudnnSetRNNDescriptor_v8(void *d, int algorithm, int mode, int biases, int both, int skip,
	int type, int compute, int math, int input, int hidden, int out, int layers,
                             void *dropout, unsigned flags) {
	Net *n = (Net *)d;
	if (algorithm != 0 || mode < 0 || mode > 3 || biases != 2 || skip || flags || !dropout ||
		input < 1 || hidden < 1 || out < 1 || layers < 1)
		return bad_param;
	if (compute != (type == 1) || math < 0 || math > 3 || out > hidden ||
		(out < hidden && mode != 2) || layers * (both + 1) > most)
		return not_supported;
	n->ready = true;
	n->mode = mode, n->both = both, n->type = type, n->input = input, n->H = hidden, n->P = out,
		n->layers = layers;
	return ok;
}
int cudnnDestroyRNNDescriptor(void *d) {
	delete (Net *)d;
	return ok;
}
int cudnnCreateRNNDataDescriptor(void **d) {
	*d = new Data;
	return ok;
}
int cudnnSetRNNDataDescriptor(void *d, int type, int layout, int steps, int batch, int numbers,
	const int *lengths, void *fill) {
	if (layout != 1 || steps < 1 || batch < 1 || numbers < 1 || !lengths || fill) return bad_param;
	for (int i = 0; i < batch; i++)
		if (lengths[i] != steps) return bad_param;
	*(Data *)d = {type, steps, batch, numbers};
	return ok;
}
int cudnnDestroyRNNDataDescriptor(void *d) {
	delete (Data *)d;
	return ok;
}
int cudnnGetRNNTempSpaceSizes(void *h, void *d, int train, void *dx, size_t *work,
	size_t *reserve) {
	const Data *x = (const Data *)dx;
	if (!h || !((Net *)d)->ready) return bad_param;
	*work = work_bytes;
	*reserve = train ? Memory(*(Net *)d, x->steps, x->batch, nullptr).used : 0;
	return ok;
}
int cudnnGetRNNWeightSpaceSize(void *h, void *d, size_t *size) {
	const Net *n = (const Net *)d;
	if (!h || !n->ready) return bad_param;
	*size = bytes(*n);
	return ok;
}
int cudnnGetRNNWeightParams(void *h, void *d, int layer, size_t, const void *space, int id,
	void *dm, void **m, void *db, void **b) {
	const Net *n = (const Net *)d;
	if (!h || !n->ready || !space || layer < 0 || layer >= n->layers * n->dirs() || id < 0 ||
		id > 8)
		return bad_param;
	Part p;
	part(*n, layer, id, &p);
	long size = width(*n);
	*m = p.at < 0 ? nullptr : (char *)space + p.at * size;
	*b = p.bias < 0 ? nullptr : (char *)space + p.bias * size;
	for (auto [to, rows, cols] : {std::tuple{dm, p.rows, p.cols}, std::tuple{db, (long)n->H, 1l}}) {
		Array *a = (Array *)to;
		a->type = n->type, a->n = 3, a->dims[0] = 1, a->dims[1] = (int)rows, a->dims[2] = (int)cols;
	}
	return ok;
}
int cudnnGetTensorNdDescriptor(const void *d, int want, int *type, int *n, int *dims,
	int *strides) {
	const Array *a = (const Array *)d;
	*type = a->type, *n = a->n;
	for (int i = 0; i < a->n && i < want; i++) dims[i] = a->dims[i], strides[i] = a->strides[i];
	return ok;
}

int cudnnRNNForward(void *h, void *d, int train, const int *, void *dx, const void *x, void *dy,
	void *y, void *dh, const void *hx, void *hy, void *dc, const void *cx,
                    void *cy, size_t weights, const void *w, size_t work, void *space,
	size_t reserve, void *kept) {
	const Data *a = (const Data *)dx;
	if (!fits((Net *)d, a, (Data *)dy, (Array *)dh, (Array *)dc, weights, work, reserve, train) ||
		!x || !y || !w || !space || (train && !kept))
		return bad_param;
	return start(h, Work{*(Net *)d, a->steps, a->batch, train, x, hx, cx, w, 0, 0, 0, y, hy, cy, 0,
		0, 0, 0, space, kept});
}
int cudnnRNNBackwardData_v8(void *h, void *d, const int *, void *dy_, const void *y, const void *dy,
	void *dx_, void *dx, void *dh, const void *hx, const void *dhy,
                            void *dhx, void *dc, const void *cx, const void *dcy, void *dcx,
	size_t weights, const void *w, size_t work, void *space, size_t reserve,
                            void *kept) {
	const Data *a = (const Data *)dx_;
	if (!fits((Net *)d, a, (Data *)dy_, (Array *)dh, (Array *)dc, weights, work, reserve, true) ||
		!y || !dy || !dx || !w || !space || !kept)
		return bad_param;
	return start(h, Work{*(Net *)d, a->steps, a->batch, 2, 0, hx, cx, w, dy, dhy, dcy, 0, 0, 0, dx,
		dhx, dcx, 0, space, kept});
}
int cudnnRNNBackwardWeights_v8(void *h, void *d, int set, const int *, void *dx_, const void *x,
	void *dh, const void *hx, void *dy_, const void *y, size_t weights,
                               void *dw, size_t work, void *space, size_t reserve, void *kept) {
	const Data *a = (const Data *)dx_;
	if (!fits((Net *)d, a, (Data *)dy_, (Array *)dh, nullptr, weights, work, reserve, true) || !x ||
		!y || !dw || !space || !kept || set)
		return bad_param;
	return start(h, Work{*(Net *)d, a->steps, a->batch, 3, x, hx, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		dw, space, kept});
}

} // extern "C"
