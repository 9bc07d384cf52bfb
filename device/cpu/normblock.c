#include "normblock.h"

#pragma GCC optimize("fp-contract=off")

#include "narrow.h"

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
INLINE gx_v16 row(const void *x, int64_t i, int narrow) { return gx_get16(x, i * W, narrow); }
INLINE void set_row(void *x, int64_t i, gx_v16 v, int narrow) { gx_put16(x, i * W, v, narrow); }
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

INLINE void strip_moments(part *p, int64_t before, const void *x, int64_t n, int narrow) {
	gx_v16 s[4] = {{0}}, d;
	int64_t i = 0;
	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) s[k] += row(x, i + k, narrow);
	for (; i < n; i++) s[0] += row(x, i, narrow);
	gx_v16 mean = ((s[0] + s[1]) + (s[2] + s[3])) / (float)n;
	for (int k = 0; k < 4; k++) s[k] = (gx_v16){0};
	for (i = 0; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++) d = row(x, i + k, narrow) - mean, s[k] += d * d;
	for (; i < n; i++) d = row(x, i, narrow) - mean, s[0] += d * d;
	join(p, (double)before, wide(mean), wide((s[0] + s[1]) + (s[2] + s[3])), (double)n);
}

INLINE void image_moments(const gx_bnb *b, int64_t block, int64_t image, int narrow) {
	int64_t from = at(b, block, image);
	part p = {{0}};
	for (int64_t i = 0; i < b->p.inner; i += STRIP)
		strip_moments(&p, i, gx_from(b->x, from + i * W, narrow), gx_min(STRIP, b->p.inner - i),
			narrow);
	parts(b)[block * b->p.n + image] = p;
}

GX_CLONES static void moments(const gx_bnb *b, int64_t block, int64_t image) {
	if (b->narrow)
		image_moments(b, block, image, 1);
	else
		image_moments(b, block, image, 0);
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
INLINE void apply_rows(const gx_bnb *b, int64_t from, const void *sum, const facts *f, int relu,
	int narrow) {
	gx_v16 mean = f->mean, mul = f->mul, beta = f->beta;
	const void *x = gx_from(b->x, from, narrow);
	void *y = (void *)gx_from(b->y, from, narrow);
	if (sum) sum = gx_from(sum, from, narrow);
	for (int64_t i = 0; i < b->p.inner; i++) {
		gx_v16 v = (row(x, i, narrow) - mean) * mul + beta;
		if (sum) v += row(sum, i, narrow);
		set_row(y, i, relu ? cut(v, v) : v, narrow);
	}
}

INLINE void apply_image(const gx_bnb *b, int64_t block, int64_t image, int narrow) {
	int64_t from = at(b, block, image);
	facts f = *facts_of(b, block);
	if (b->sum && b->relu)
		apply_rows(b, from, b->sum, &f, 1, narrow);
	else if (b->sum)
		apply_rows(b, from, b->sum, &f, 0, narrow);
	else if (b->relu)
		apply_rows(b, from, 0, &f, 1, narrow);
	else
		apply_rows(b, from, 0, &f, 0, narrow);
}

GX_CLONES static void apply(const gx_bnb *b, int64_t block, int64_t image) {
	if (b->narrow)
		apply_image(b, block, image, 1);
	else
		apply_image(b, block, image, 0);
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
INLINE gx_v16 rest(const void *dy, const void *x, const void *y, int64_t i, const facts *f,
	int relu, int narrow) {
	gx_v16 g = row(dy, i, narrow);
	if (!relu) return g;
	if (y) return cut(g, row(y, i, narrow));
	return cut(g, (row(x, i, narrow) - f->mean) * f->mul + f->beta);
}

// rows are the operands of a strip of backward; y and keep may be null.
typedef struct {
	const void *dy, *x, *y;
	void *keep;
} rows;

INLINE void sum_row(gx_v16 *s, gx_v16 *q, rows r, int64_t i, const facts *f, int relu, int narrow) {
	gx_v16 g = rest(r.dy, r.x, r.y, i, f, relu, narrow);
	*s += g;
	*q += g * (row(r.x, i, narrow) - f->mean);
	if (r.keep) set_row(r.keep, i, g, narrow);
}

INLINE void sum_rows(part *p, rows r, int64_t n, const facts *f, int relu, int narrow) {
	gx_v16 s0 = {0}, s1 = {0}, q0 = {0}, q1 = {0};
	int64_t i = 0;
	for (; i + 2 <= n; i += 2) {
		sum_row(&s0, &q0, r, i, f, relu, narrow);
		sum_row(&s1, &q1, r, i + 1, f, relu, narrow);
	}
	if (i < n) sum_row(&s0, &q0, r, i, f, relu, narrow);
	p->a += wide(s0 + s1);
	p->b += wide(q0 + q1);
}

INLINE void image_sums(const gx_bnb *b, int64_t block, int64_t image, int narrow) {
	int64_t from = at(b, block, image);
	facts f = grad_facts(b, block);
	part p = {{0}};
	for (int64_t i = 0; i < b->p.inner; i += STRIP) {
		int64_t o = from + i * W, n = gx_min(STRIP, b->p.inner - i);
		const void *dy = gx_from(b->dy, o, narrow), *x = gx_from(b->x, o, narrow),
			*y = gx_from(b->y, o, narrow);
		void *keep = (void *)gx_from(b->dsum, o, narrow);
		if (b->relu && b->y && b->dsum)
			sum_rows(&p, (rows){dy, x, y, keep}, n, &f, 1, narrow);
		else if (b->relu && b->y)
			sum_rows(&p, (rows){dy, x, y, 0}, n, &f, 1, narrow);
		else if (b->relu)
			sum_rows(&p, (rows){dy, x, 0, 0}, n, &f, 1, narrow);
		else if (b->dsum)
			sum_rows(&p, (rows){dy, x, 0, keep}, n, &f, 0, narrow);
		else
			sum_rows(&p, (rows){dy, x, 0, 0}, n, &f, 0, narrow);
	}
	parts(b)[block * b->p.n + image] = p;
}

GX_CLONES static void sums(const gx_bnb *b, int64_t block, int64_t image) {
	if (b->narrow)
		image_sums(b, block, image, 1);
	else
		image_sums(b, block, image, 0);
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

INLINE void grad_rows(const gx_bnb *b, int64_t from, const void *dy, const void *y, const facts *f,
	int relu, int narrow) {
	facts g = *f;
	const void *x = gx_from(b->x, from, narrow);
	void *dx = (void *)gx_from(b->dx, from, narrow);
	dy = gx_from(dy, from, narrow);
	if (y) y = gx_from(y, from, narrow);
	for (int64_t i = 0; i < b->p.inner; i++)
		set_row(dx, i, g.mul * rest(dy, x, y, i, &g, relu, narrow) +
			g.slope * (row(x, i, narrow) - g.mean) + g.shift, narrow);
}

INLINE void image_grads(const gx_bnb *b, int64_t block, int64_t image, int narrow) {
	int64_t from = at(b, block, image);
	const facts *f = facts_of(b, block);
	if (b->dsum) // dsum holds the gradient behind the rectifier
		grad_rows(b, from, b->dsum, 0, f, 0, narrow);
	else if (b->relu && b->y)
		grad_rows(b, from, b->dy, b->y, f, 1, narrow);
	else if (b->relu)
		grad_rows(b, from, b->dy, 0, f, 1, narrow);
	else
		grad_rows(b, from, b->dy, 0, f, 0, narrow);
}

GX_CLONES static void grads(const gx_bnb *b, int64_t block, int64_t image) {
	if (b->narrow)
		image_grads(b, block, image, 1);
	else
		image_grads(b, block, image, 0);
}

void gx_bnb_grad(gx_bnb b, int threads) {
	all(&b, (passes){sums, settle_grad, b.dx ? grads : 0}, threads);
}
