#include "softmax.h"

#include "gxmath.h"

enum { COLS = 64 }; // neighbours along inner that are worked on together

typedef struct {
	float *d;
	const float *x, *y;
	int64_t n, inner;
	float s; // 1/temperature
	int log;
} job;

// max_row and the sums below use interleaved parts that join pairwise, as in reduce.c.
static inline __attribute__((always_inline)) float join_sum(float *part) {
	for (int w = COLS / 2; w > 0; w /= 2)
		for (int k = 0; k < w; k++) part[k] += part[k + w];
	return part[0];
}

GX_CLONES static float max_row(const float *x, int64_t n) {
	float part[COLS];
	for (int k = 0; k < COLS; k++) part[k] = -INFINITY;
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		for (int k = 0; k < COLS; k++) part[k] = x[i + k] > part[k] ? x[i + k] : part[k];
	for (int k = 0; i + k < n; k++) part[k] = x[i + k] > part[k] ? x[i + k] : part[k];
	for (int w = COLS / 2; w > 0; w /= 2)
		for (int k = 0; k < w; k++) part[k] = part[k] > part[k + w] ? part[k] : part[k + w];
	return part[0];
}

// exp_row writes exp(s*(x - m)) to d and returns the sum.
GX_CLONES static float exp_row(float *d, const float *x, int64_t n, float m, float s) {
	float part[COLS] = {0};
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		_Pragma("GCC ivdep") for (int k = 0; k < COLS; k++) {
			float e = gx_exp((x[i + k] - m) * s);
			d[i + k] = e;
			part[k] += e;
		}
	_Pragma("GCC ivdep") for (int k = 0; k < (int)(n - i); k++) {
		float e = gx_exp((x[i + k] - m) * s);
		d[i + k] = e;
		part[k] += e;
	}
	return join_sum(part);
}

GX_CLONES static float sum_exp_row(const float *x, int64_t n, float m, float s) {
	float part[COLS] = {0};
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		for (int k = 0; k < COLS; k++) part[k] += gx_exp((x[i + k] - m) * s);
	for (int k = 0; k < (int)(n - i); k++) part[k] += gx_exp((x[i + k] - m) * s);
	return join_sum(part);
}

GX_CLONES static void affine_row(float *d, const float *x, int64_t n, float a, float b) {
	GX_EACH(i, 0, n) d[i] = x[i] * a + b;
}

static void rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t r = begin; r < end; r++) {
		const float *x = j->x + r * j->n;
		float *d = j->d + r * j->n;
		// The largest of s*x is wanted; a negative temperature turns the order around.
		float m = max_row(x, j->n);
		if (j->s < 0) {
			m = x[0];
			for (int64_t i = 1; i < j->n; i++) m = x[i] < m ? x[i] : m;
		}
		if (j->log) {
			float l = logf(sum_exp_row(x, j->n, m, j->s));
			affine_row(d, x, j->n, j->s, -m * j->s - l);
		} else {
			float sum = exp_row(d, x, j->n, m, j->s);
			affine_row(d, d, j->n, 1.0f / sum, 0.0f);
		}
	}
}

// cols works on up to COLS neighbours along inner at a time.
GX_CLONES static void cols(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t blocks = (j->inner + COLS - 1) / COLS, stride = j->inner;
	for (int64_t it = begin; it < end; it++) {
		int64_t c = it % blocks * COLS, base = it / blocks * j->n * stride + c;
		int w = (int)gx_min(COLS, stride - c);
		const float *x = j->x + base;
		float *d = j->d + base, m[COLS], sum[COLS];
		for (int k = 0; k < w; k++) m[k] = x[k] * j->s, sum[k] = 0;
		for (int64_t i = 1; i < j->n; i++)
			for (int k = 0; k < w; k++) m[k] = x[i * stride + k] * j->s > m[k] ? x[i * stride + k] * j->s : m[k];
		for (int64_t i = 0; i < j->n; i++)
			for (int k = 0; k < w; k++) sum[k] += gx_exp(x[i * stride + k] * j->s - m[k]);
		for (int k = 0; k < w; k++) sum[k] = j->log ? gx_log(sum[k]) : 1.0f / sum[k];
		for (int64_t i = 0; i < j->n; i++)
			_Pragma("GCC ivdep") for (int k = 0; k < w; k++) {
				float v = x[i * stride + k] * j->s - m[k];
				d[i * stride + k] = j->log ? v - sum[k] : gx_exp(v) * sum[k];
			}
	}
}

void gx_softmax(float *d, const float *x, int64_t outer, int64_t n, int64_t inner, float temperature, int log, int threads) {
	job j = {d, x, 0, n, inner, 1.0f / temperature, log};
	if (n == 0 || inner == 0) return;
	if (inner == 1)
		gx_parallel(threads, outer, 4, rows, &j);
	else
		gx_parallel(threads, outer * ((inner + COLS - 1) / COLS), 1, cols, &j);
}

GX_CLONES static void grad_row(float *d, const float *dy, const float *y, int64_t n, float s, int log) {
	float part[COLS] = {0};
	for (int64_t i = 0; i < n; i += COLS) {
		int w = (int)gx_min(COLS, n - i);
		if (log)
			for (int k = 0; k < w; k++) part[k] += dy[i + k];
		else
			for (int k = 0; k < w; k++) part[k] += dy[i + k] * y[i + k];
	}
	float sum = join_sum(part);
	if (log) {
		GX_EACH(i, 0, n) d[i] = s * (dy[i] - gx_exp(y[i]) * sum);
	} else {
		GX_EACH(i, 0, n) d[i] = s * y[i] * (dy[i] - sum);
	}
}

static void grad_rows(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t r = begin; r < end; r++) {
		int64_t at = r * j->n;
		grad_row(j->d + at, j->x + at, j->y + at, j->n, j->s, j->log);
	}
}

GX_CLONES static void grad_cols(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t blocks = (j->inner + COLS - 1) / COLS, stride = j->inner;
	for (int64_t it = begin; it < end; it++) {
		int64_t c = it % blocks * COLS, base = it / blocks * j->n * stride + c;
		int w = (int)gx_min(COLS, stride - c);
		const float *dy = j->x + base, *y = j->y + base;
		float *d = j->d + base, sum[COLS] = {0};
		for (int64_t i = 0; i < j->n * stride; i += stride)
			for (int k = 0; k < w; k++) sum[k] += dy[i + k] * (j->log ? 1.0f : y[i + k]);
		for (int64_t i = 0; i < j->n * stride; i += stride)
			_Pragma("GCC ivdep") for (int k = 0; k < w; k++) {
				float g = dy[i + k], v = y[i + k];
				d[i + k] = j->s * (j->log ? g - gx_exp(v) * sum[k] : v * (g - sum[k]));
			}
	}
}

void gx_softmax_grad(float *dx, const float *dy, const float *y, int64_t outer, int64_t n, int64_t inner, float temperature, int log, int threads) {
	job j = {dx, dy, y, n, inner, 1.0f / temperature, log};
	if (n == 0 || inner == 0) return;
	if (inner == 1)
		gx_parallel(threads, outer, 4, grad_rows, &j);
	else
		gx_parallel(threads, outer * ((inner + COLS - 1) / COLS), 1, grad_cols, &j);
}

typedef struct {
	float *dx;
	const float *y, *label;
	const gx_softmax_loss *p;
	float scale;
} loss_job;

GX_CLONES static void loss_range(const void *arg, int64_t begin, int64_t end) {
	const loss_job *j = arg;
	const gx_softmax_loss *p = j->p;
	int64_t n = p->n, inner = p->inner;
	float off = p->smooth / (float)gx_max(1, n - 1), on = 1.0f - p->smooth;
	for (int64_t o = begin; o < end; o++) {
		const float *y = j->y + o * n * inner, *label = j->label + o * inner;
		float *dx = j->dx + o * n * inner;
		for (int64_t i = 0; i < n; i++)
			_Pragma("GCC ivdep") for (int64_t k = 0; k < inner; k++) {
				float v = y[i * inner + k] - ((int64_t)label[k] == i ? on : off);
				dx[i * inner + k] = p->use_ignore && (int64_t)label[k] == p->ignore ? 0.0f : v * j->scale;
			}
	}
}

void gx_softmax_loss_grad(float *dx, const float *y, const float *label, const gx_softmax_loss *p, int threads) {
	float scale = p->scale;
	if (p->valid) {
		int64_t count = 0;
		for (int64_t i = 0; i < p->outer * p->inner; i++) count += (int64_t)label[i] != p->ignore;
		scale /= (float)gx_max(1, count);
	}
	loss_job j = {dx, y, label, p, scale};
	gx_parallel(threads, p->outer, 16, loss_range, &j);
}
