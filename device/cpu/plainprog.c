//go:build nodnn

#include "plainprog.h"

#include "matmul.h"

#include "gx.h"
#include "poolprog.h"

#include <stdlib.h>
#include <string.h>

gx_prog *gx_prog_new(gx_prog_fn run, int threads) {
	gx_prog *p = calloc(1, sizeof *p);
	if (p) p->run = run, p->threads = threads;
	return p;
}

int64_t gx_prog_take(gx_prog *p, int64_t floats) {
	int64_t at = p->scratch;
	p->scratch += gx_lines(floats * (int64_t)sizeof(float));
	return at;
}

int gx_prog_run(gx_prog *p, void *a, void *b, void *c, void *d, void *e, void *f, void *scratch) {
	void *ptrs[GX_PROG_PTRS] = {a, b, c, d, e, f};
	gx_team(p->threads);
	return p->run(p, ptrs, scratch);
}

int64_t gx_prog_scratch(const gx_prog *p) { return p->scratch; }
int64_t gx_prog_packed_bytes(const gx_prog *p) { return p->packed; }
int gx_prog_packed_equal(const gx_prog *a, const gx_prog *b) {
	return a->packed > 0 && a->packed == b->packed;
}
const char *gx_prog_impl(const gx_prog *p, int i) { return 0; }
void gx_prog_free(gx_prog *p) { free(p); }

// place says where channel c of image n begins in a layout, and how far its pixels are apart.
typedef struct {
	int64_t begin, step;
} place;

static place place_of(const gx_array *a, int layout, int64_t n, int64_t c) {
	int64_t block = layout == GX_BLOCK8 ? 8 : 16;
	switch (layout) {
	case GX_PLAIN:
		return (place){(n * a->channels + c) * a->pixels, 1};
	case GX_LAST:
		return (place){n * a->channels * a->pixels + c, a->channels};
	}
	return (place){(n * a->channels + c / block * block) * a->pixels + c % block, block};
}

typedef struct {
	char *d;
	const char *s;
	const gx_array *a;
	int from, to;
	int64_t width; // bytes of an element: 1, 2 or 4
} relayout;

static void relayout_range(const void *arg, int64_t begin, int64_t end) {
	const relayout *r = arg;
	int64_t w = r->width;
	for (int64_t i = begin; i < end; i++) {
		int64_t n = i / r->a->channels, c = i % r->a->channels;
		place s = place_of(r->a, r->from, n, c), d = place_of(r->a, r->to, n, c);
		const char *from = r->s + s.begin * w;
		char *to = r->d + d.begin * w;
		for (int64_t k = 0; k < r->a->pixels; k++, from += s.step * w, to += d.step * w) {
			if (w == 4)
				memcpy(to, from, 4);
			else if (w == 2)
				memcpy(to, from, 2);
			else
				*to = *from;
		}
	}
}

static void relayout_of(void *d, const void *s, int64_t width, const gx_array *a, int from, int to,
	int threads) {
	if (from == to) {
		if (d != s) gx_copy(d, s, (size_t)(a->batch * a->channels * a->pixels * width));
		return;
	}
	relayout r = {d, s, a, from, to, width};
	gx_parallel(threads, a->batch * a->channels, 16, relayout_range, &r);
}

void gx_relayout(float *d, const float *s, const gx_array *a, int from, int to, int threads) {
	relayout_of(d, s, sizeof *d, a, from, to, threads);
}

static int run_reorder(const gx_prog *p, void *const *ptrs, char *scratch) {
	relayout_of(ptrs[1], ptrs[0], p->width, &p->x, p->from, p->to, p->threads);
	return 0;
}

int gx_reorder(gx_prog **out, int type, int axes, const int64_t *dims, int from, int to,
	int threads) {
	gx_prog *p = *out = gx_prog_new(run_reorder, threads);
	if (!p) return GX_NO_MEMORY;
	p->width = type == GX_FLOAT ? 4 : type == GX_BFLOAT ? 2 : 1;
	p->x = (gx_array){dims[0], dims[1], 1};
	for (int i = 0; i < axes; i++) p->x.pixels *= dims[2 + i];
	p->from = from, p->to = to;
	return 0;
}

static int run_pool(const gx_prog *p, void *const *ptrs, char *scratch) {
	float *x = (float *)scratch, *y = x + (p->scratch / 2 / (int64_t)sizeof(float));
	gx_relayout(x, ptrs[0], &p->x, p->from, GX_PLAIN, p->threads);
	gx_pool_forward(p->to == GX_PLAIN ? ptrs[1] : y, x, &p->pool, p->threads);
	if (p->to != GX_PLAIN) gx_relayout(ptrs[1], y, &p->y, GX_PLAIN, p->to, p->threads);
	return 0;
}

int gx_pool_program(gx_prog **out, const gx_pool *c, int type, int64_t channels, int axes,
	int layout, int choose_y, int threads) {
	*out = 0;
	if (type != GX_FLOAT) return GX_NOT_IMPLEMENTED;
	gx_prog *p = *out = gx_prog_new(run_pool, threads);
	if (!p) return GX_NO_MEMORY;
	p->pool = *c;
	p->from = layout, p->to = choose_y ? layout : GX_PLAIN;
	p->x = p->y = (gx_array){c->planes / channels, channels, 1};
	for (int i = 0; i < 3; i++) p->x.pixels *= c->in[i], p->y.pixels *= c->out[i];
	int64_t most = gx_max(p->x.pixels, p->y.pixels) * c->planes;
	gx_prog_take(p, most); // x and y, in equal halves
	gx_prog_take(p, most);
	return 0;
}

// Products of narrow numbers are the library's.
int gx_matmul_program(gx_prog **out, const gx_matmul *g, int threads) {
	*out = 0;
	return GX_NOT_IMPLEMENTED;
}
