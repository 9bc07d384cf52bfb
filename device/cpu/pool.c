#include "pool.h"

#include "gx.h"

#include <float.h>
#include <math.h>

typedef struct {
	float *d;
	const float *dy, *x, *y;
	const gx_pool *p;
} job;

// span is the part of an output row whose window element k lies inside the input.
typedef struct {
	int64_t begin, end, in; // outputs [begin, end); output begin reads input in
} span;

// inside returns for which outputs along axis a the window element k is inside.
static span inside(const gx_pool *p, int a, int64_t k) {
	int64_t s = p->stride[a], off = k - p->pad[a]; // output o reads o*s + off
	int64_t b = off >= 0 ? 0 : (-off + s - 1) / s;
	int64_t e = p->in[a] - off <= 0 ? 0 : (p->in[a] - off - 1) / s + 1;
	e = gx_min(e, p->out[a]);
	return (span){b, gx_max(b, e), b * s + off};
}

// window returns how many elements of the window of output o count along axis a.
static int64_t window(const gx_pool *p, int a, int64_t o, int include_pad) {
	int64_t b = o * p->stride[a] - p->pad[a], e = gx_min(b + p->kernel[a], p->in[a] + p->pad[a]);
	if (include_pad) return gx_max(0, e - b);
	return gx_max(0, gx_min(e, p->in[a]) - gx_max(b, 0));
}

#define ROW_LOOP(S, body) \
	for (int64_t i = 0; i < n; i++) { \
		const float v = x[i * (S)]; \
		body; \
	}

// FORWARD joins one window element of each of n neighbouring outputs; common strides are constants.
#define FORWARD(name, body) \
	GX_CLONES static void forward_##name(float *restrict y, const float *restrict x, int64_t n, int64_t s) { \
		if (s == 1) \
			ROW_LOOP(1, body) \
		else if (s == 2) \
			ROW_LOOP(2, body) \
		else \
			ROW_LOOP(s, body) \
	}
FORWARD(max, y[i] = v > y[i] || y[i] != y[i] ? v : y[i]) // starts from NaN; NaN elements never win
FORWARD(sum, y[i] += v)
FORWARD(square, y[i] += v *v)
FORWARD(cube, y[i] += v *v *v)

typedef void (*forward_fn)(float *restrict, const float *restrict, int64_t, int64_t);

static forward_fn choose_forward(const gx_pool *p) {
	if (p->type == GX_POOL_MAX) return forward_max;
	if (p->type != GX_POOL_LP) return forward_sum;
	return p->p == 1 ? forward_sum : p->p == 2 ? forward_square : forward_cube;
}

// finish turns the joined values of the windows of an output row into results.
static void finish(float *y, const gx_pool *p, int64_t od, int64_t oh) {
	int64_t n = p->out[2];
	if (p->type == GX_POOL_MAX)
		for (int64_t i = 0; i < n; i++) y[i] = y[i] != y[i] ? -FLT_MAX : y[i];
	if (p->type == GX_POOL_LP && p->p > 1)
		for (int64_t i = 0; i < n; i++) y[i] = p->p == 2 ? sqrtf(y[i]) : cbrtf(y[i]);
	if (p->type != GX_POOL_AVG) return;
	int64_t rows = window(p, 0, od, p->include_pad) * window(p, 1, oh, p->include_pad);
	for (int64_t i = 0; i < n; i++) {
		int64_t count = rows * window(p, 2, i, p->include_pad);
		y[i] = count > 0 ? y[i] / (float)count : 0.0f;
	}
}

static void forward_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	forward_fn fn = choose_forward(p);
	int64_t W = p->in[2], H = p->in[1], plane = p->in[0] * H * W;
	float *y = j->d + begin * p->out[0] * p->out[1] * p->out[2];
	for (int64_t c = begin; c < end; c++)
		for (int64_t od = 0; od < p->out[0]; od++)
			for (int64_t oh = 0; oh < p->out[1]; oh++, y += p->out[2]) {
				for (int64_t i = 0; i < p->out[2]; i++) y[i] = p->type == GX_POOL_MAX ? NAN : 0.0f;
				for (int64_t kd = 0; kd < p->kernel[0]; kd++) {
					int64_t id = od * p->stride[0] - p->pad[0] + kd;
					if (id < 0 || id >= p->in[0]) continue;
					for (int64_t kh = 0; kh < p->kernel[1]; kh++) {
						int64_t ih = oh * p->stride[1] - p->pad[1] + kh;
						if (ih < 0 || ih >= H) continue;
						const float *row = j->x + c * plane + (id * H + ih) * W;
						for (int64_t kw = 0; kw < p->kernel[2]; kw++) {
							span sp = inside(p, 2, kw);
							fn(y + sp.begin, row + sp.in, sp.end - sp.begin, p->stride[2]);
						}
					}
				}
				finish(y, p, od, oh);
			}
}

// Windows of 2x2 that neither overlap nor reach beyond the input are the commonest case. Rows are
// often shorter than the longest vectors, so these kernels use vectors of eight: four windows side
// by side.
typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float v4 __attribute__((vector_size(16), aligned(4), may_alias));

static inline float max1(float a, float b) { return b > a || a != a ? b : a; }

#define MAX8(a, b, m) (m = ((b) > (a)) | ((a) != (a)), (v8)((m & (i8)(b)) | (~m & (i8)(a))))
#define SWAP8(a) __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6)

GX_CLONES static void max22(float *y, const float *x, int64_t w, int64_t n) {
	int64_t i = 0;
	for (; i + 4 <= n; i += 4) {
		i8 m;
		v8 a = *(const v8 *)(x + 2 * i), b = *(const v8 *)(x + w + 2 * i);
		a = MAX8(a, b, m);
		b = SWAP8(a);
		a = MAX8(a, b, m);
		m = a == a;
		a = (v8)((m & (i8)a) | (~m & (i8)((v8){} - FLT_MAX)));
		*(v4 *)(y + i) = __builtin_shufflevector(a, a, 0, 2, 4, 6);
	}
	for (; i < n; i++) {
		float m = max1(max1(x[2 * i], x[2 * i + 1]), max1(x[w + 2 * i], x[w + 2 * i + 1]));
		y[i] = m != m ? -FLT_MAX : m;
	}
}

static int is22(const gx_pool *p) {
	return p->type == GX_POOL_MAX && p->in[0] == 1 && p->kernel[0] == 1 && p->stride[0] == 1 &&
		p->pad[0] == 0 &&
	       p->kernel[1] == 2 && p->kernel[2] == 2 && p->stride[1] == 2 && p->stride[2] == 2 &&
		p->pad[1] == 0 &&
	       p->pad[2] == 0 && p->out[1] * 2 <= p->in[1] && p->out[2] * 2 <= p->in[2];
}

static void max22_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	int64_t W = p->in[2], w = p->out[2], plane = p->in[1] * W;
	float *y = j->d + begin * p->out[1] * w;
	for (int64_t c = begin; c < end; c++)
		for (int64_t oh = 0; oh < p->out[1]; oh++, y += w)
			max22(y, j->x + c * plane + 2 * oh * W, W, w);
}

// Windows that cover all of a plane, as before the last layer of most networks.
static int is_global(const gx_pool *p) {
	for (int a = 0; a < 3; a++)
		if (p->out[a] != 1 || p->pad[a] != 0 || p->kernel[a] < p->in[a]) return 0;
	return p->type == GX_POOL_AVG || p->type == GX_POOL_SUM;
}

GX_CLONES static void global_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	int64_t n = p->in[0] * p->in[1] * p->in[2];
	float scale = p->type == GX_POOL_AVG ? 1.0f / (float)n : 1.0f;
	for (int64_t c = begin; c < end; c++) {
		const float *x = j->x + c * n;
		float part[GX_LANES] = {0}, sum = 0;
		int64_t i = 0;
		for (; i + GX_LANES <= n; i += GX_LANES)
			for (int k = 0; k < GX_LANES; k++) part[k] += x[i + k];
		for (; i < n; i++) sum += x[i];
		for (int k = 0; k < GX_LANES; k++) sum += part[k];
		j->d[c] = sum * scale;
	}
}

// Maxima of a row of windows are found down the columns first, in a strip of LINE columns, then
// along it.
enum { LINE = 1024 };

GX_CLONES static void max_into(float *restrict t, const float *restrict x, int64_t n) {
	for (int64_t i = 0; i < n; i++) t[i] = x[i] > t[i] || t[i] != t[i] ? x[i] : t[i];
}

static int is_flat_max(const gx_pool *p) {
	return p->type == GX_POOL_MAX && p->in[0] == 1 && p->kernel[0] == 1 && p->stride[0] == 1 &&
		p->pad[0] == 0 && p->in[2] <= LINE && p->kernel[1] > 1;
}

static void flat_max_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	int64_t H = p->in[1], W = p->in[2];
	float t[LINE], *y = j->d + begin * p->out[1] * p->out[2];
	for (int64_t c = begin; c < end; c++)
		for (int64_t oh = 0; oh < p->out[1]; oh++, y += p->out[2]) {
			int64_t first = oh * p->stride[1] - p->pad[1], b = gx_max(0, first),
				e = gx_min(H, first + p->kernel[1]);
			for (int64_t i = 0; i < p->out[2]; i++) y[i] = NAN;
			if (b < e) {
				memcpy(t, j->x + (c * H + b) * W, (size_t)W * sizeof(float));
				for (int64_t h = b + 1; h < e; h++) max_into(t, j->x + (c * H + h) * W, W);
				for (int64_t kw = 0; kw < p->kernel[2]; kw++) {
					span sp = inside(p, 2, kw);
					forward_max(y + sp.begin, t + sp.in, sp.end - sp.begin, p->stride[2]);
				}
			}
			finish(y, p, 0, oh);
		}
}

static gx_range_fn choose_planes(const gx_pool *p) {
	if (is22(p)) return max22_planes;
	if (is_global(p)) return global_planes;
	return is_flat_max(p) ? flat_max_planes : forward_planes;
}

void gx_pool_forward(float *y, const float *x, const gx_pool *p, int threads) {
	job j = {y, 0, x, 0, p};
	gx_parallel(threads, p->planes, 1, choose_planes(p), &j);
}

// sum_row gives dy to every element.
GX_CLONES static void sum_row(float *dx, const float *dy, int64_t n, int64_t s) {
	GX_EACH(i, 0, n) dx[i * s] += dy[i];
}

// max_row gives dy to x where it first equals y; taken marks outputs that gave theirs away.
GX_CLONES static void max_row(float *dx, const float *dy, const float *x, const float *y,
	int32_t *taken, int64_t n, int64_t s) {
	GX_EACH(i, 0, n) {
		int32_t hit = !taken[i] & (x[i * s] == y[i]);
		dx[i * s] += hit ? dy[i] : 0.0f;
		taken[i] |= hit;
	}
}

static void lp_row(float *dx, const float *dy, const float *x, const float *y, int64_t n, int64_t s,
	int p) {
	for (int64_t i = 0; i < n; i++) {
		float v = x[i * s] / y[i], g = p == 1 ? 1.0f : p == 2 ? v : v * v;
		if (y[i] == 0.0f && p > 1) continue;
		dx[i * s] += dy[i] * g;
	}
}

enum { STRIP = 512 }; // outputs of a row that are worked on together

// strip is a piece of one output row and the gradient that reaches its windows.
typedef struct {
	const gx_pool *p;
	const float *dy, *y;
	int64_t begin, n;
	float g[STRIP];
	int32_t taken[STRIP];
} strip;

static void backward_element(strip *t, float *dx, const float *x, int64_t kw) {
	const gx_pool *p = t->p;
	span sp = inside(p, 2, kw);
	int64_t b = gx_max(sp.begin, t->begin), e = gx_min(sp.end, t->begin + t->n), s = p->stride[2];
	if (b >= e) return;
	int64_t at = b - t->begin, in = sp.in + (b - sp.begin) * s;
	if (p->type == GX_POOL_MAX)
		max_row(dx + in, t->g + at, x + in, t->y + at, t->taken + at, e - b, s);
	else if (p->type == GX_POOL_LP)
		lp_row(dx + in, t->g + at, x + in, t->y + at, e - b, s, p->p);
	else
		sum_row(dx + in, t->g + at, e - b, s);
}

static void backward_strip(strip *t, float *dx, const float *x, int64_t od, int64_t oh) {
	const gx_pool *p = t->p;
	int64_t rows = window(p, 0, od, p->include_pad) * window(p, 1, oh, p->include_pad);
	for (int64_t i = 0; i < t->n; i++) {
		t->taken[i] = 0;
		t->g[i] = t->dy[i];
		if (p->type == GX_POOL_AVG) {
			int64_t count = rows * window(p, 2, t->begin + i, p->include_pad);
			t->g[i] = count > 0 ? t->g[i] / (float)count : 0.0f;
		}
	}
	for (int64_t kd = 0; kd < p->kernel[0]; kd++) {
		int64_t id = od * p->stride[0] - p->pad[0] + kd;
		if (id < 0 || id >= p->in[0]) continue;
		for (int64_t kh = 0; kh < p->kernel[1]; kh++) {
			int64_t ih = oh * p->stride[1] - p->pad[1] + kh;
			if (ih < 0 || ih >= p->in[1]) continue;
			int64_t row = (id * p->in[1] + ih) * p->in[2];
			for (int64_t kw = 0; kw < p->kernel[2]; kw++)
				backward_element(t, dx + row, x + row, kw);
		}
	}
}

static void backward_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	int64_t plane = p->in[0] * p->in[1] * p->in[2], oplane = p->out[0] * p->out[1] * p->out[2];
	strip t = {.p = p};
	for (int64_t c = begin; c < end; c++) {
		memset(j->d + c * plane, 0, (size_t)plane * sizeof(float));
		for (int64_t r = 0; r < p->out[0] * p->out[1]; r++)
			for (int64_t b = 0; b < p->out[2]; b += STRIP) {
				int64_t at = c * oplane + r * p->out[2] + b;
				t.dy = j->dy + at, t.y = j->y + at, t.begin = b, t.n = gx_min(STRIP, p->out[2] - b);
				backward_strip(&t, j->d + c * plane, j->x + c * plane, r / p->out[1],
					r % p->out[1]);
			}
	}
}

GX_CLONES static void max22_back(float *dx, const float *dy, const float *x, const float *y,
	int64_t w, int64_t n) {
	const i8 odd = {0, -1, 0, -1, 0, -1, 0, -1};
	int64_t i = 0;
	for (; i + 4 <= n; i += 4) {
		v4 g4 = *(const v4 *)(dy + i), m4 = *(const v4 *)(y + i);
		v8 g = __builtin_shufflevector(g4, g4, 0, 0, 1, 1, 2, 2, 3, 3),
			m = __builtin_shufflevector(m4, m4, 0, 0, 1, 1, 2, 2, 3, 3);
		i8 a = *(const v8 *)(x + 2 * i) == m, b = *(const v8 *)(x + w + 2 * i) == m;
		i8 sa = SWAP8(a), sb = SWAP8(b);
		*(v8 *)(dx + 2 * i) = (v8)((i8)g & a & ~(sa & odd));
		*(v8 *)(dx + w + 2 * i) = (v8)((i8)g & b & ~(a | sa) & ~(sb & odd));
	}
	for (; i < n; i++) {
		float g = dy[i], m = y[i];
		int32_t a = x[2 * i] == m, b = x[2 * i + 1] == m, c = x[w + 2 * i] == m,
			d = x[w + 2 * i + 1] == m;
		dx[2 * i] = a ? g : 0.0f;
		dx[2 * i + 1] = b & !a ? g : 0.0f;
		dx[w + 2 * i] = c & !(a | b) ? g : 0.0f;
		dx[w + 2 * i + 1] = d & !(a | b | c) ? g : 0.0f;
	}
}

static void max22_back_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_pool *p = j->p;
	int64_t W = p->in[2], w = p->out[2], plane = p->in[1] * W;
	for (int64_t c = begin; c < end; c++) {
		float *dx = j->d + c * plane;
		if (p->in[1] != 2 * p->out[1] || W != 2 * w) memset(dx, 0, (size_t)plane * sizeof(float));
		for (int64_t oh = 0; oh < p->out[1]; oh++) {
			int64_t at = (c * p->out[1] + oh) * w, in = 2 * oh * W;
			max22_back(dx + in, j->dy + at, j->x + c * plane + in, j->y + at, W, w);
		}
	}
}

void gx_pool_backward(float *dx, const float *dy, const float *x, const float *y, const gx_pool *p,
	int threads) {
	job j = {dx, dy, x, y, p};
	gx_parallel(threads, p->planes, 1, is22(p) ? max22_back_planes : backward_planes, &j);
}
