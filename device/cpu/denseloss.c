#include "denseloss.h"

#include "gx.h"
#include "product.h"

// Threads take columns of the scores, block by block: a block of their gradient is made, multiplied
// with the data to the gradient of as many rows of the weight, and with these rows to a part of the
// gradient of the data. Every thread multiplies by itself: none waits for another but at the end.

enum {
	WIDTH = 256, // columns of a block
	UNIT = 16,   // columns go to threads in units
	// Between rows of a block: rows that are powers of two apart share lines of the cache
	GAP = 16,
};

typedef struct {
	float *dx, *dw, *db;
	const float *y, *label, *x, *w;
	const gx_dense_loss *p;
	float *blocks, *sums, *parts;
	float scale;
	int threads;
	int *err;
} job;

static int64_t width(const gx_dense_loss *p) {
	return gx_min(WIDTH, (p->loss.n + UNIT - 1) / UNIT * UNIT);
}
static int64_t block_size(const gx_dense_loss *p) { return p->loss.outer * (width(p) + GAP); }

// parts_of is the number of threads that find work.
static int parts_of(const gx_dense_loss *p, int threads) {
	return (int)gx_max(1, gx_min(threads, p->loss.n / UNIT));
}

int64_t gx_dense_loss_room(const gx_dense_loss *p, int threads) {
	int parts = parts_of(p, threads);
	return parts * (block_size(p) + WIDTH) + (parts - 1) * p->loss.outer * p->in;
}

// make writes columns from to from + n of the gradient, and adds up each.
static void make(const job *j, float *d, float *sum, int64_t from, int64_t n) {
	gx_softmax_loss_columns(d, width(j->p) + GAP, sum, j->y, j->label, &j->p->loss, j->scale, from,
		n);
}

// block works on columns from to from + n; It adds its products to part; the first block sets part.
static int block(const job *j, int64_t t, int64_t from, int64_t n, float *part, int first) {
	int64_t in = j->p->in, rows = j->p->loss.outer, step = width(j->p) + GAP;
	float *d = j->blocks + t * block_size(j->p);
	make(j, d, j->db ? j->db + from : j->sums + t * WIDTH, from, n);
	if (j->dw) {
		gx_gemm g = {.m = n, .n = in, .k = rows, .lda = step, .ldb = in, .ldc = in, .alpha = 1.0f,
			.ta = 1};
		int err = gx_sgemm_alone(j->dw + from * in, d, j->x, &g);
		if (err) return err;
	}
	if (!part) return 0;
	gx_gemm g = {.m = rows, .n = in, .k = n, .lda = step, .ldb = in, .ldc = in, .alpha = 1.0f,
		.beta = first ? 0.0f : 1.0f};
	return gx_sgemm_alone(part, d, j->w + from * in, &g);
}

static void columns(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->p->loss.n, units = n / UNIT, most = width(j->p);
	for (int64_t t = begin; t < end; t++) {
		int64_t from = units * t / j->threads * UNIT,
			to = t + 1 == j->threads ? n : units * (t + 1) / j->threads * UNIT;
		float *part = t == 0 || !j->dx ? j->dx : j->parts + (t - 1) * j->p->loss.outer * j->p->in;
		for (int64_t c = from; c < to; c += most) {
			int err = block(j, t, c, gx_min(most, to - c), part, c == from);
			if (err) *j->err = err;
		}
	}
}

int gx_dense_loss_grad(float *dx, float *dw, float *db, const float *y, const float *label,
	const float *x, const float *w, const gx_dense_loss *p, float *memory,
					   int threads) {
	int parts = parts_of(p, threads), err = 0;
	float *sums = memory + parts * block_size(p);
	job j = {dx, dw, db, y, label, x, w, p, memory, sums, sums + parts * WIDTH,
		gx_softmax_loss_scale(label, &p->loss), parts, &err};
	gx_parallel(parts, parts, 1, columns, &j);
	if (dx) gx_add_parts(dx, j.parts, p->loss.outer * p->in, parts - 1, parts);
	return err;
}
