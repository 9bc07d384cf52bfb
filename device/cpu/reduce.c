#include "reduce.h"

#include "gx.h"

#include <math.h>

// Products are rounded before they are added: sums agree on processors with and without fused
// operations.
#pragma GCC optimize("fp-contract=off")

enum {
	// Elements that one piece of an axis covers when outer * inner alone is little work
	PIECE = 16384,
	BLOCK = 128,   // rows that are summed before they join the total, which bounds the error
	COLS = 64,     // neighbouring results that are kept in registers
	FEW = 16,      // parts of a short row
	// Neighbouring results of one item where there are many: memory is read in longer runs
	STRIP = 1024,
};

typedef struct {
	float *d;
	const float *a;
	int64_t outer, n, inner, pieces, width; // an item has width neighbouring results
	float scale;
} job;

// Each reduction: neutral element, how an element joins, how two partial results join.
#define FOLDS(X) \
	X(SUM, 0.0f, r + x, r + x) \
	X(SUM_SQUARE, 0.0f, r + x * x, r + x) \
	X(PROD, 1.0f, r *x, r *x)
#define REDUCTIONS(X) \
	FOLDS(X) \
	X(REDUCE_MAX, -INFINITY, (x > r || x != x ? x : r), (x > r || x != x ? x : r)) \
	X(REDUCE_MIN, INFINITY, (x < r || x != x ? x : r), (x < r || x != x ? x : r))

#define DEFINE_STEP(name, neutral, step, join) \
	static inline float step_##name(float r, float x) { return step; } \
	static inline float join_##name(float r, float x) { return join; }
REDUCTIONS(DEFINE_STEP)

// A row (inner == 1) is reduced in interleaved parts, which join pairwise: COLS parts, or FEW where
// it is shorter.
#define DEFINE_ROW(name, neutral, parts) \
	GX_CLONES static float name##_of_##parts(const float *a, int64_t n) { \
		float part[parts]; \
		for (int k = 0; k < parts; k++) part[k] = neutral; \
		int64_t i = 0; \
		for (; i + parts <= n; i += parts) \
			for (int k = 0; k < parts; k++) part[k] = step_##name(part[k], a[i + k]); \
		for (int k = 0; i + k < n; k++) part[k] = step_##name(part[k], a[i + k]); \
		for (int w = parts / 2; w > 0; w /= 2) \
			for (int k = 0; k < w; k++) part[k] = join_##name(part[k], part[k + w]); \
		return part[0]; \
	}
#define DEFINE_FOLD(name, neutral, step, join) \
	DEFINE_ROW(name, neutral, FEW) \
	DEFINE_ROW(name, neutral, COLS) \
	static float row_##name(const float *a, int64_t n) { return n < COLS ? name##_of_FEW(a, n) : name##_of_COLS(a, n); }
FOLDS(DEFINE_FOLD)

// An extreme of a long row is found without a look at NaN, which is noted apart: the chains of
// operations are shorter.
#define DEFINE_EXTREME(name, neutral, is) \
	DEFINE_ROW(name, neutral, FEW) \
	GX_CLONES static float long_##name(const float *a, int64_t n) { \
		float part[COLS], bad[COLS]; \
		for (int k = 0; k < COLS; k++) part[k] = neutral, bad[k] = 0.0f; \
		int64_t i = 0; \
		for (; i + COLS <= n; i += COLS) \
			for (int k = 0; k < COLS; k++) { \
				float x = a[i + k]; \
				part[k] = x is part[k] ? x : part[k]; \
				bad[k] = x != x ? x : bad[k]; \
			} \
		for (int k = 0; i + k < n; k++) { \
			float x = a[i + k]; \
			part[k] = x is part[k] ? x : part[k]; \
			bad[k] = x != x ? x : bad[k]; \
		} \
		for (int w = COLS / 2; w > 0; w /= 2) \
			for (int k = 0; k < w; k++) { \
				part[k] = part[k + w] is part[k] ? part[k + w] : part[k]; \
				bad[k] = bad[k + w] != 0.0f ? bad[k + w] : bad[k]; \
			} \
		return bad[0] != 0.0f ? bad[0] : part[0]; \
	} \
	static float row_##name(const float *a, int64_t n) { return n < COLS ? name##_of_FEW(a, n) : long_##name(a, n); }
DEFINE_EXTREME(REDUCE_MAX, -INFINITY, >)
DEFINE_EXTREME(REDUCE_MIN, INFINITY, <)

#define DEFINE_REDUCTION(name, neutral, step, join) \
	GX_CLONES static void cols_##name(float *d, const float *a, int64_t n, int64_t stride) { \
		float total[COLS]; \
		for (int k = 0; k < COLS; k++) total[k] = neutral; \
		for (int64_t i = 0; i < n; i += BLOCK) { \
			int64_t e = gx_min(n, i + BLOCK); \
			float part[COLS]; \
			for (int k = 0; k < COLS; k++) part[k] = neutral; \
			for (int64_t r = i; r < e; r++) \
				for (int k = 0; k < COLS; k++) part[k] = step_##name(part[k], a[r * stride + k]); \
			for (int k = 0; k < COLS; k++) total[k] = join_##name(total[k], part[k]); \
		} \
		for (int k = 0; k < COLS; k++) d[k] = total[k]; \
	} \
	GX_CLONES static void tail_##name(float *d, const float *a, int64_t n, int64_t stride, int64_t cols) { \
		for (int64_t k = 0; k < cols; k++) d[k] = neutral; \
		for (int64_t i = 0; i < n; i += BLOCK) { \
			int64_t e = gx_min(n, i + BLOCK); \
			float part[COLS]; \
			for (int k = 0; k < COLS; k++) part[k] = neutral; \
			for (int64_t r = i; r < e; r++) \
				for (int64_t k = 0; k < cols; k++) part[k] = step_##name(part[k], a[r * stride + k]); \
			for (int64_t k = 0; k < cols; k++) d[k] = join_##name(d[k], part[k]); \
		} \
	} \
	/* strip_ is cols_ for STRIP columns, each summed in the same order */ \
	GX_CLONES static void strip_##name(float *restrict d, const float *restrict a, int64_t n, int64_t stride) { \
		float part[STRIP]; \
		for (int k = 0; k < STRIP; k++) d[k] = neutral; \
		for (int64_t i = 0; i < n; i += BLOCK) { \
			int64_t e = gx_min(n, i + BLOCK); \
			for (int k = 0; k < STRIP; k++) part[k] = neutral; \
			for (int64_t r = i; r < e; r++) \
				for (int k = 0; k < STRIP; k++) part[k] = step_##name(part[k], a[r * stride + k]); \
			for (int k = 0; k < STRIP; k++) d[k] = join_##name(d[k], part[k]); \
		} \
	} \
	/* items are (outer, piece, block of columns) */ \
	static void range_##name(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		int64_t blocks = (j->inner + j->width - 1) / j->width; \
		for (int64_t it = begin; it < end; it++) { \
			int64_t c = it % blocks * j->width, p = it / blocks % j->pieces, o = it / blocks / j->pieces; \
			int64_t b = j->n * p / j->pieces, e = j->n * (p + 1) / j->pieces; \
			const float *a = j->a + (o * j->n + b) * j->inner + c; \
			float *d = j->d + (o * j->pieces + p) * j->inner + c; \
			int64_t cols = gx_min(j->width, j->inner - c); \
			if (j->inner == 1) \
				*d = row_##name(a, e - b); \
			else if (cols == STRIP) \
				strip_##name(d, a, e - b, j->inner); \
			else \
				for (int64_t k = 0; k < cols; k += COLS) { \
					if (k + COLS <= cols) \
						cols_##name(d + k, a + k, e - b, j->inner); \
					else \
						tail_##name(d + k, a + k, e - b, j->inner, cols - k); \
				} \
			if (j->scale != 1.0f) \
				for (int64_t k = 0; k < cols; k++) d[k] *= j->scale; \
		} \
	} \
	static void join_pieces_##name(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; /* a is (outer, pieces, inner); items are (outer, inner) */ \
		for (int64_t it = begin; it < end; it++) { \
			const float *a = j->a + it / j->inner * j->pieces * j->inner + it % j->inner; \
			float r = a[0]; \
			for (int64_t p = 1; p < j->pieces; p++) r = join_##name(r, a[p * j->inner]); \
			j->d[it] = r * j->scale; \
		} \
	}
REDUCTIONS(DEFINE_REDUCTION)

#define ENTRY(name, neutral, step, join) [GX_##name] = {range_##name, join_pieces_##name},
static const gx_range_fn table[][2] = {REDUCTIONS(ENTRY)};

// count_pieces returns into how many pieces the axis is cut.
static int64_t count_pieces(int64_t outer, int64_t n, int64_t inner) {
	int64_t blocks = outer * ((inner + COLS - 1) / COLS);
	if (blocks == 0 || blocks >= 64) return 1;
	int64_t most = n * gx_min(inner, COLS) / PIECE;
	return gx_max(1, gx_min(most, 64 / blocks));
}

int64_t gx_reduce_scratch(int64_t outer, int64_t n, int64_t inner) {
	int64_t p = count_pieces(outer, n, inner);
	return p == 1 ? 0 : outer * p * inner * (int64_t)sizeof(float);
}

void gx_reduce(int op, float *d, const float *a, int64_t outer, int64_t n, int64_t inner,
	float scale, int threads, float *scratch) {
	int64_t pieces = count_pieces(outer, n, inner),
		width = outer * pieces * (inner / STRIP) >= threads ? STRIP : COLS;
	int64_t items = outer * pieces * ((inner + width - 1) / width);
	if (pieces == 1) {
		job j = {d, a, outer, n, inner, 1, width, scale};
		gx_parallel(threads, items, 1, table[op][0], &j);
		return;
	}
	job parts = {scratch, a, outer, n, inner, pieces, width, 1.0f},
		join = {d, scratch, outer, n, inner, pieces, width, scale};
	gx_parallel(threads, items, 1, table[op][0], &parts);
	gx_parallel(1, outer * inner, 1, table[op][1], &join);
}

typedef struct {
	float *d;
	const float *a;
	int64_t n, inner;
	int sign;
} arg_job;

// find returns the first i with s*a[i] equal to best, or NaN where best is.
GX_CLONES static int64_t find(const float *a, int64_t n, float s, float best) {
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS) {
		int hit = 0;
		for (int k = 0; k < COLS; k++) hit |= s * a[i + k] == best || a[i + k] != a[i + k];
		if (hit) break;
	}
	while (i < n - 1 && s * a[i] != best && a[i] == a[i]) i++;
	return i;
}

static void arg_rows(const void *arg, int64_t begin, int64_t end) {
	const arg_job *j = arg;
	for (int64_t r = begin; r < end; r++) {
		const float *a = j->a + r * j->n;
		float best = j->sign > 0 ? row_REDUCE_MAX(a, j->n) : -row_REDUCE_MIN(a, j->n);
		j->d[r] = (float)find(a, j->n, (float)j->sign, best);
	}
}

// arg_cols works on COLS neighbours along inner at a time; items are (outer, block of columns).
GX_CLONES static void arg_cols(const void *arg, int64_t begin, int64_t end) {
	const arg_job *j = arg;
	int64_t blocks = (j->inner + COLS - 1) / COLS;
	float s = (float)j->sign;
	for (int64_t it = begin; it < end; it++) {
		int64_t c = it % blocks * COLS, o = it / blocks;
		int w = (int)gx_min(COLS, j->inner - c);
		const float *a = j->a + o * j->n * j->inner + c;
		float best[COLS], at[COLS] = {0};
		for (int k = 0; k < w; k++) best[k] = s * a[k];
		for (int64_t i = 1; i < j->n; i++)
			for (int k = 0; k < w; k++) {
				float x = s * a[i * j->inner + k];
				int better = (x > best[k]) | ((x != x) & (best[k] == best[k]));
				best[k] = better ? x : best[k];
				at[k] = better ? (float)i : at[k];
			}
		memcpy(j->d + o * j->inner + c, at, (size_t)w * sizeof(float));
	}
}

void gx_arg(float *d, const float *a, int64_t outer, int64_t n, int64_t inner, int sign,
	int threads) {
	arg_job j = {d, a, n, inner, sign};
	if (n == 0) return;
	if (inner == 1)
		gx_parallel(threads, outer, 1, arg_rows, &j);
	else
		gx_parallel(threads, outer * ((inner + COLS - 1) / COLS), 1, arg_cols, &j);
}
