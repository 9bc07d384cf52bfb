#include "update.h"

#include "gx.h"

#include <math.h>

// Replicas on different processors must agree to the last bit: no fused operations.
#pragma GCC optimize("fp-contract=off")

enum { GRAIN = 1024 };

typedef struct {
	float *out, *a, *b;
	const float *w, *g;
	gx_update p;
	float limit; // of the gradient, infinite for none
} job;

static inline float clip(float g, float limit) {
	return g > limit ? limit : (g < -limit ? -limit : g);
}

static job make(float *out, const float *w, const float *g, float *a, float *b,
	const gx_update *p) {
	return (job){out, a, b, w, g, *p, p->clip < 0.0f ? INFINITY : p->clip};
}

GX_CLONES static void sgd(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *out = j->out;
	const float *w = j->w, *g = j->g;
	const float lr = j->p.lr, keep = (float)(1.0 - (double)j->p.lr * (double)j->p.wd),
		rescale = j->p.rescale, limit = j->limit;
	GX_EACH(i, begin, end) out[i] = keep * w[i] - lr * clip(rescale * g[i], limit);
}

GX_CLONES static void sgd_momentum(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *out = j->out, *mom = j->a;
	const float *w = j->w, *g = j->g;
	const float lr = j->p.lr, decay = j->p.lr * j->p.wd, m = j->p.momentum, rescale = j->p.rescale,
		limit = j->limit;
	GX_EACH(i, begin, end) {
		float v = m * mom[i] - decay * w[i] - lr * clip(rescale * g[i], limit);
		mom[i] = v;
		out[i] = w[i] + v;
	}
}

GX_CLONES static void nag(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *out = j->out, *mom = j->a;
	const float *w = j->w, *g = j->g;
	const float lr = j->p.lr, wd = j->p.wd, m = j->p.momentum, rescale = j->p.rescale,
		limit = j->limit;
	GX_EACH(i, begin, end) {
		float step = lr * (clip(rescale * g[i], limit) + wd * w[i]), v = m * mom[i] - step;
		mom[i] = v;
		out[i] = w[i] + (m * v - step);
	}
}

GX_CLONES static void adam(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *out = j->out, *mean = j->a, *var = j->b;
	const float *w = j->w, *g = j->g;
	const float lr = j->p.lr, wd = j->p.wd, b1 = j->p.beta1, b2 = j->p.beta2, eps = j->p.eps,
		rescale = j->p.rescale, limit = j->limit;
	const float c1 = 1.0f - b1, c2 = 1.0f - b2;
	GX_EACH(i, begin, end) {
		float d = clip(rescale * g[i] + wd * w[i], limit);
		float m = b1 * mean[i] + c1 * d, v = b2 * var[i] + c2 * d * d;
		mean[i] = m;
		var[i] = v;
		out[i] = w[i] - lr * m / (sqrtf(v) + eps);
	}
}

GX_CLONES static void adagrad(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *out = j->out, *history = j->a;
	const float *w = j->w, *g = j->g;
	const float lr = j->p.lr, wd = j->p.wd, eps = j->p.eps, rescale = j->p.rescale,
		limit = j->limit;
	GX_EACH(i, begin, end) {
		float d = clip(rescale * g[i], limit), h = history[i] + d * d;
		history[i] = h;
		out[i] = w[i] - lr * (d / sqrtf(h + eps) + wd * w[i]);
	}
}

void gx_sgd(float *out, const float *w, const float *g, const gx_update *p, int threads) {
	job j = make(out, w, g, 0, 0, p);
	gx_parallel(threads, p->n, GRAIN, sgd, &j);
}

void gx_sgd_momentum(float *out, const float *w, const float *g, float *mom, const gx_update *p,
	int threads) {
	job j = make(out, w, g, mom, 0, p);
	gx_parallel(threads, p->n, GRAIN, sgd_momentum, &j);
}

void gx_nag(float *out, const float *w, const float *g, float *mom, const gx_update *p,
	int threads) {
	job j = make(out, w, g, mom, 0, p);
	gx_parallel(threads, p->n, GRAIN, nag, &j);
}

void gx_adam(float *out, const float *w, const float *g, float *mean, float *var,
	const gx_update *p, int threads) {
	job j = make(out, w, g, mean, var, p);
	gx_parallel(threads, p->n, GRAIN, adam, &j);
}

void gx_adagrad(float *out, const float *w, const float *g, float *history, const gx_update *p,
	int threads) {
	job j = make(out, w, g, history, 0, p);
	gx_parallel(threads, p->n, GRAIN, adagrad, &j);
}

// A table is an operand by rows.
typedef struct {
	float *v;
	const int64_t *at;
} table;

typedef struct {
	job j;
	table w, g, a, b;
	gx_range_fn step;
} rows;

static inline float *row_of(const table *t, int64_t i, int64_t n) {
	return t->v ? t->v + (t->at ? t->at[i] : i) * n : 0;
}

// ahead starts to load a row, whose place no processor guesses.
static inline void ahead(const float *row, int64_t n) {
	if (row)
		for (int64_t i = 0; i < n && i < 128; i += 16) __builtin_prefetch(row + i, 1);
}

static void step_rows(const void *arg, int64_t begin, int64_t end) {
	enum { NONE = 64, AHEAD = 4 }; // elements of a gradient of zeros; rows between load and use
	static const float none[NONE];
	const rows *r = arg;
	const int64_t n = r->j.p.n;
	job j = r->j;
	for (int64_t i = begin; i < end; i++) {
		if (i + AHEAD < end) {
			ahead(row_of(&r->w, i + AHEAD, n), n);
			ahead(row_of(&r->a, i + AHEAD, n), n);
			ahead(row_of(&r->b, i + AHEAD, n), n);
		}
		j.w = j.out = row_of(&r->w, i, n);
		j.a = row_of(&r->a, i, n);
		j.b = row_of(&r->b, i, n);
		if (!r->g.at || r->g.at[i] >= 0) {
			j.g = row_of(&r->g, i, n);
			r->step(&j, 0, n);
			continue;
		}
		j.g = none;
		for (int64_t left = n; left > 0; left -= NONE) {
			r->step(&j, 0, gx_min(left, NONE));
			j.w = j.out += NONE;
			if (j.a) j.a += NONE;
			if (j.b) j.b += NONE;
		}
	}
}

void gx_step_rows(int rule, float *w, const int64_t *wat, const float *g, const int64_t *gat,
	float *a, const int64_t *aat, float *b, const int64_t *bat, int64_t count, const gx_update *p,
	int threads) {
	static const gx_range_fn steps[] = {sgd, sgd_momentum, adam, adagrad};
	rows r = {make(0, 0, 0, 0, 0, p), {w, wat}, {(float *)g, gat}, {a, aat}, {b, bat},
		steps[rule]};
	gx_parallel(threads, count, 1 + GRAIN / (p->n + 1), step_rows, &r);
}
