#include "normblock.h"

#pragma GCC optimize("fp-contract=off")

#include "gx.h"

enum { W = GX_LANES, STRIP = 256 }; // a strip of rows of W channels stays in the first cache

typedef double d16 __attribute__((vector_size(8 * W), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

// part holds the share of one image in the statistics of W channels: mean and sum of squared
// differences, or two sums.
typedef struct {
	d16 a, b;
} part;

// facts are the numbers that hold for all pixels of W channels.
typedef struct {
	gx_v16 mean, mul, beta, slope, shift;
} facts;

INLINE int64_t blocks(const gx_bn *p) { return p->c / W; }
INLINE part *parts(const gx_bnb *b) { return b->scratch; }
INLINE facts *facts_of(const gx_bnb *b, int64_t block) { return (facts *)(parts(b) +
	b->p.n * blocks(&b->p)) + block; }
INLINE int64_t at(const gx_bnb *b, int64_t block,
	int64_t image) { return (image * blocks(&b->p) + block) * b->p.inner * W; }
INLINE gx_v16 row(const float *x, int64_t i) { return GX_AT(x + i * W); }
INLINE d16 wide(gx_v16 v) { return __builtin_convertvector(v, d16); }

// cut returns v, but zero where y is zero or less. Where y is not a number it returns v: one comparison
// per element takes a fifth less time than two, and statistics of a batch with such an element make v
// none either.
INLINE gx_v16 cut(gx_v16 v, gx_v16 y) { return (gx_v16)((gx_i16)v & ~(gx_i16)(y <= 0.0f)); }

int64_t gx_bnb_scratch(const gx_bn *p) {
	return blocks(p) * (p->n * (int64_t)sizeof(part) + (int64_t)sizeof(facts));
}

// join adds the moments of n rows to the moments of count rows (Chan, Golub and LeVeque, 1979).
INLINE void join(part *p, double count, d16 mean, d16 m2, double n) {
	d16 d = mean - p->a;
	p->a += d * (n / (count + n));
	p->b += m2 + d * d * (count * n / (count + n));
}

INLINE void strip_moments(part *p, int64_t before, const float *x, int64_t n) {
	gx_v16 s[4] = {{0}}, d;
	int64_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) s[k] += row(x, i + k);
	for (; i < n; i++) s[0] += row(x, i);
	gx_v16 mean = ((s[0] + s[1]) + (s[2] + s[3])) / (float)n;
	for (int k = 0; k < 4; k++) s[k] = (gx_v16){0};
	for (i = 0; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) d = row(x, i + k) - mean, s[k] += d * d;
	for (; i < n; i++) d = row(x, i) - mean, s[0] += d * d;
	join(p, (double)before, wide(mean), wide((s[0] + s[1]) + (s[2] + s[3])), (double)n);
}

GX_CLONES static void moments(const gx_bnb *b, int64_t block, int64_t image) {
	const float *x = b->x + at(b, block, image);
	part p = {{0}};
	for (int64_t i = 0; i < b->p.inner; i += STRIP)
		strip_moments(&p, i, x + i * W, gx_min(STRIP, b->p.inner - i));
	parts(b)[block * b->p.n + image] = p;
}

// learn joins the moments of all images and moves the moving averages.
GX_CLONES static void learn(const gx_bnb *b, int64_t block, float *mean, float *var) {
	const gx_bn *p = &b->p;
	const part *list = parts(b) + block * p->n;
	part sum = {{0}};
	for (int64_t i = 0; i < p->n; i++)
		join(&sum, (double)(i * p->inner), list[i].a, list[i].b, (double)p->inner);
	float *mm = b->moving_mean + block * W, *mv = b->moving_var + block * W;
	for (int k = 0; k < W; k++) {
		mean[k] = (float)sum.a[k];
		var[k] = (float)(sum.b[k] / ((double)p->n * (double)p->inner));
		mm[k] = mm[k] * p->momentum + mean[k] * (1.0f - p->momentum);
		mv[k] = mv[k] * p->momentum + var[k] * (1.0f - p->momentum);
	}
}

// settle computes the mean, factor and offset of the pixels of a block.
static void settle(const gx_bnb *b, int64_t block) {
	const gx_bn *p = &b->p;
	float mean[W], var[W], mul[W], beta[W];
	memcpy(mean, b->moving_mean + block * W, sizeof mean);
	memcpy(var, b->moving_var + block * W, sizeof var);
	if (p->learn) learn(b, block, mean, var);
	for (int k = 0; k < W; k++) {
		int64_t c = block * W + k;
		float inv = 1.0f / sqrtf(var[k] + p->eps);
		mul[k] = p->fix_gamma ? inv : inv * b->gamma[c];
		beta[k] = b->beta[c];
		if (b->mean) b->mean[c] = mean[k];
		if (b->inv) b->inv[c] = inv;
	}
	*facts_of(b, block) = (facts){.mean = GX_AT(mean), .mul = GX_AT(mul), .beta = GX_AT(beta)};
}

// apply_rows is inlined with constants for the steps after normalizing.
INLINE void apply_rows(float *y, const float *x, const float *sum, int64_t n, const facts *f,
	int relu) {
	gx_v16 mean = f->mean, mul = f->mul, beta = f->beta;
	for (int64_t i = 0; i < n; i++) {
		gx_v16 v = (row(x, i) - mean) * mul + beta;
		if (sum) v += row(sum, i);
		GX_AT(y + i * W) = relu ? cut(v, v) : v;
	}
}

GX_CLONES static void apply(const gx_bnb *b, int64_t block, int64_t image) {
	int64_t from = at(b, block, image), n = b->p.inner;
	float *y = b->y + from;
	const float *x = b->x + from;
	facts f = *facts_of(b, block);
	if (b->sum && b->relu)
		apply_rows(y, x, b->sum + from, n, &f, 1);
	else if (b->sum)
		apply_rows(y, x, b->sum + from, n, &f, 0);
	else if (b->relu)
		apply_rows(y, x, 0, n, &f, 1);
	else
		apply_rows(y, x, 0, n, &f, 0);
}

// The passes of a direction: look at every image of a block, settle the block, change every image.
typedef struct {
	void (*look)(const gx_bnb *, int64_t block, int64_t image);
	void (*settle)(const gx_bnb *, int64_t block);
	void (*change)(const gx_bnb *, int64_t block, int64_t image);
} passes;

typedef struct {
	const gx_bnb *b;
	passes p;
} job;

// whole_blocks does one block after the other: its images are still in a cache when they are
// changed, the last ones first.
static void whole_blocks(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->b->p.n;
	for (int64_t k = begin; k < end; k++) {
		if (j->p.look)
			for (int64_t i = 0; i < n; i++) j->p.look(j->b, k, i);
		j->p.settle(j->b, k);
		if (j->p.change)
			for (int64_t i = n; i-- > 0;) j->p.change(j->b, k, i);
	}
}

static void looks(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) j->p.look(j->b, i / j->b->p.n, i % j->b->p.n);
}

static void settles(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) j->p.settle(j->b, i);
}

static void changes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) j->p.change(j->b, i / j->b->p.n, i % j->b->p.n);
}

// all shares blocks among the threads, or the images of all blocks when there are too few of these;
// the results are the same.
static void all(const gx_bnb *b, passes p, int threads) {
	job j = {b, p};
	int64_t n = blocks(&b->p);
	if (threads <= 1 || n % threads == 0 || n >= 4 * threads) {
		gx_parallel(threads, n, 1, whole_blocks, &j);
		return;
	}
	if (p.look) gx_parallel(threads, n * b->p.n, 1, looks, &j);
	settles(&j, 0, n);
	if (p.change) gx_parallel(threads, n * b->p.n, 1, changes, &j);
}

void gx_bnb_forward(gx_bnb b, int threads) {
	all(&b, (passes){b.p.learn ? moments : 0, settle, b.y ? apply : 0}, threads);
}

// grad_facts fills in the facts that do not depend on the gradient.
INLINE facts grad_facts(const gx_bnb *b, int64_t block) {
	int64_t c = block * W;
	gx_v16 inv = GX_AT(b->inv + c);
	facts f = {.mean = GX_AT(b->mean + c), .mul = inv};
	if (!b->p.fix_gamma) f.mul *= GX_AT(b->gamma + c);
	if (b->beta) f.beta = GX_AT(b->beta + c);
	return f;
}

// rest returns the gradient that the rectifier lets pass at row i: y, where given, says where that
// is.
INLINE gx_v16 rest(const float *dy, const float *x, const float *y, int64_t i, const facts *f,
	int relu) {
	gx_v16 g = row(dy, i);
	if (!relu) return g;
	if (y) return cut(g, row(y, i));
	return cut(g, (row(x, i) - f->mean) * f->mul + f->beta);
}

// rows are the operands of a strip of backward; y and keep may be null.
typedef struct {
	const float *dy, *x, *y;
	float *keep;
} rows;

INLINE void sum_row(gx_v16 *s, gx_v16 *q, rows r, int64_t i, const facts *f, int relu) {
	gx_v16 g = rest(r.dy, r.x, r.y, i, f, relu);
	*s += g;
	*q += g * (row(r.x, i) - f->mean);
	if (r.keep) GX_AT(r.keep + i * W) = g;
}

INLINE void sum_rows(part *p, rows r, int64_t n, const facts *f, int relu) {
	gx_v16 s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
	int64_t i = 0;
	for (; i + 2 <= n; i += 2) {
		sum_row(&s0, &q0, r, i, f, relu);
		sum_row(&s1, &q1, r, i + 1, f, relu);
	}
	if (i < n) sum_row(&s0, &q0, r, i, f, relu);
	p->a += wide(s0 + s1);
	p->b += wide(q0 + q1);
}

GX_CLONES static void sums(const gx_bnb *b, int64_t block, int64_t image) {
	int64_t from = at(b, block, image);
	facts f = grad_facts(b, block);
	part p = {{0}};
	for (int64_t i = 0; i < b->p.inner; i += STRIP) {
		int64_t o = from + i * W, n = gx_min(STRIP, b->p.inner - i);
		const float *dy = b->dy + o, *x = b->x + o;
		if (b->relu && b->y && b->dsum)
			sum_rows(&p, (rows){dy, x, b->y + o, b->dsum + o}, n, &f, 1);
		else if (b->relu && b->y)
			sum_rows(&p, (rows){dy, x, b->y + o, 0}, n, &f, 1);
		else if (b->relu)
			sum_rows(&p, (rows){dy, x, 0, 0}, n, &f, 1);
		else if (b->dsum)
			sum_rows(&p, (rows){dy, x, 0, b->dsum + o}, n, &f, 0);
		else
			sum_rows(&p, (rows){dy, x, 0, 0}, n, &f, 0);
	}
	parts(b)[block * b->p.n + image] = p;
}

// settle_grad joins the sums and decides how the gradient of x depends on them.
GX_CLONES static void settle_grad(const gx_bnb *b, int64_t block) {
	const gx_bn *p = &b->p;
	const part *list = parts(b) + block * p->n;
	part t = {{0}};
	for (int64_t i = 0; i < p->n; i++) t.a += list[i].a, t.b += list[i].b;
	facts f = grad_facts(b, block);
	float slope[W] = {0}, shift[W] = {0};
	double count = (double)p->n * (double)p->inner;
	for (int k = 0; k < W; k++) {
		int64_t c = block * W + k;
		float inv = b->inv[c];
		if (b->dgamma) b->dgamma[c] = p->fix_gamma ? 0.0f : (float)(t.b[k] * inv);
		if (b->dbeta) b->dbeta[c] = (float)t.a[k];
		if (!p->learn) continue;
		slope[k] = (float)(-f.mul[k] * t.b[k] / count * inv * inv);
		shift[k] = (float)(-f.mul[k] * t.a[k] / count);
	}
	f.slope = GX_AT(slope), f.shift = GX_AT(shift);
	*facts_of(b, block) = f;
}

INLINE void grad_rows(float *dx, const float *dy, const float *x, const float *y, int64_t n,
	const facts *f, int relu) {
	facts g = *f;
	for (int64_t i = 0; i < n; i++)
		GX_AT(dx + i * W) = g.mul * rest(dy, x, y, i, &g, relu) + g.slope * (row(x, i) - g.mean) +
			g.shift;
}

GX_CLONES static void grads(const gx_bnb *b, int64_t block, int64_t image) {
	int64_t from = at(b, block, image), n = b->p.inner;
	const facts *f = facts_of(b, block);
	float *dx = b->dx + from;
	const float *x = b->x + from;
	if (b->dsum) // dsum holds the gradient behind the rectifier
		grad_rows(dx, b->dsum + from, x, 0, n, f, 0);
	else if (b->relu && b->y)
		grad_rows(dx, b->dy + from, x, b->y + from, n, f, 1);
	else if (b->relu)
		grad_rows(dx, b->dy + from, x, 0, n, f, 1);
	else
		grad_rows(dx, b->dy + from, x, 0, n, f, 0);
}

void gx_bnb_grad(gx_bnb b, int threads) {
	all(&b, (passes){sums, settle_grad, b.dx ? grads : 0}, threads);
}
