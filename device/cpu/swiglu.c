#include "swiglu.h"

#pragma GCC optimize("fp-contract=off")

#include "gxmath.h"

enum { PIECE = 1024 }; // elements of a row that are one item of work

typedef struct {
	float *y, *da, *db;
	const float *dy, *a, *b;
	const gx_swiglu *p;
} job;

// piece finds item i: n elements, at offset wide of a and b and at offset at of the others.
static inline int64_t piece(const gx_swiglu *p, int64_t i, int64_t *wide, int64_t *at) {
	int64_t pieces = (p->n + PIECE - 1) / PIECE, from = i % pieces * PIECE, row = i / pieces;
	*wide = row * p->step + from;
	*at = row * p->n + from;
	return gx_min(PIECE, p->n - from);
}

GX_CLONES static void forward_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t it = begin; it < end; it++) {
		int64_t wide, at, n = piece(j->p, it, &wide, &at);
		const float *a = j->a + wide, *b = j->b + wide;
		float *y = j->y + at;
		GX_EACH(i, 0, n) y[i] = a[i] * gx_sigmoid(a[i]) * b[i];
	}
}

GX_CLONES static void grad_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t it = begin; it < end; it++) {
		int64_t wide, at, n = piece(j->p, it, &wide, &at);
		const float *a = j->a + wide, *b = j->b + wide, *dy = j->dy + at;
		float da[PIECE], db[PIECE];
		GX_EACH(i, 0, n) {
			float s = gx_sigmoid(a[i]), g = dy[i] * s;
			da[i] = g * b[i] * (1.0f + a[i] * (1.0f - s));
			db[i] = g * a[i];
		}
		if (j->da) memcpy(j->da + wide, da, (size_t)n * sizeof(float));
		if (j->db) memcpy(j->db + wide, db, (size_t)n * sizeof(float));
	}
}

static int64_t items(const gx_swiglu *p) { return p->rows * ((p->n + PIECE - 1) / PIECE); }

void gx_swiglu_forward(float *y, const float *a, const float *b, const gx_swiglu *p, int threads) {
	job j = {.y = y, .a = a, .b = b, .p = p};
	gx_parallel(threads, items(p), 1, forward_range, &j);
}

void gx_swiglu_grad(float *da, float *db, const float *dy, const float *a, const float *b,
	const gx_swiglu *p, int threads) {
	job j = {.da = da, .db = db, .dy = dy, .a = a, .b = b, .p = p};
	gx_parallel(threads, items(p), 1, grad_range, &j);
}
