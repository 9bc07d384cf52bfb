#include "sparse.h"

#include "gx.h"

// The kernels in Go, which round products before they add, give the same bits.
#pragma GCC optimize("fp-contract=off")

enum {
	PART = 64,  // columns that are summed in registers
	AHEAD = 4   // rows between load and use
};

typedef struct {
	float *d;
	const int64_t *to, *starts;
	const int32_t *order;
	const int64_t *at;
	const float *factor, *s;
	int64_t n, items;
} sums;

static inline int64_t item_of(const sums *j, int64_t i) { return j->order ? j->order[i] : i; }

static inline const float *row_of(const sums *j, int64_t item) {
	return j->s + (j->at ? j->at[item] : item) * j->n;
}

// ahead starts to load a row, whose place no processor guesses.
static inline void ahead(const void *row, int64_t bytes) {
	for (int64_t i = 0; i < bytes && i < 512; i += 64) __builtin_prefetch((const char *)row + i);
}

// sum_part sums width columns from column c on of the items [begin, end).
static inline __attribute__((always_inline)) void sum_part(const sums *j, float *d, int64_t c,
	int64_t width, int64_t begin, int64_t end) {
	float sum[PART];
	for (int64_t k = 0; k < width; k++) sum[k] = 0.0f;
	for (int64_t i = begin; i < end; i++) {
		const int64_t item = item_of(j, i);
		const float f = j->factor ? j->factor[item] : 1.0f;
		const float *s = row_of(j, item) + c;
		if (c == 0 && i + AHEAD < j->items)
			ahead(row_of(j, item_of(j, i + AHEAD)), j->n * (int64_t)sizeof(float));
		for (int64_t k = 0; k < width; k++) sum[k] += f * s[k];
	}
	for (int64_t k = 0; k < width; k++) d[c + k] = sum[k];
}

GX_CLONES static void sum_range(const void *arg, int64_t begin, int64_t end) {
	const sums *j = arg;
	const int64_t n = j->n;
	for (int64_t g = begin; g < end; g++) {
		float *d = j->d + (j->to ? j->to[g] : g) * n;
		const int64_t from = j->starts[g], to = j->starts[g + 1];
		int64_t c = 0;
		for (; c + PART <= n; c += PART) sum_part(j, d, c, PART, from, to);
		for (; c + 16 <= n; c += 16) sum_part(j, d, c, 16, from, to);
		for (; c + 4 <= n; c += 4) sum_part(j, d, c, 4, from, to);
		for (; c < n; c++) sum_part(j, d, c, 1, from, to);
	}
}

void gx_sum_rows(float *d, const int64_t *to, const int64_t *starts, const int32_t *order,
	const int64_t *at, const float *factor, const float *s, int64_t groups, int64_t n,
	int threads) {
	sums j = {d, to, starts, order, at, factor, s, n, groups ? starts[groups] : 0};
	gx_parallel(threads, groups, 8, sum_range, &j);
}

typedef struct {
	char *d;
	const char *s;
	const int64_t *at;
	int64_t n;
} gathering;

static void gather_range(const void *arg, int64_t begin, int64_t end) {
	const gathering *j = arg;
	const int64_t n = j->n;
	for (int64_t i = begin; i < end; i++) {
		if (i + AHEAD < end && j->at[i + AHEAD] >= 0) ahead(j->s + j->at[i + AHEAD] * n, n);
		if (j->at[i] >= 0)
			memcpy(j->d + i * n, j->s + j->at[i] * n, (size_t)n);
		else
			memset(j->d + i * n, 0, (size_t)n);
	}
}

void gx_gather_rows(void *d, const void *s, const int64_t *at, int64_t rows, int64_t n,
	int threads) {
	gathering j = {d, s, at, n};
	gx_parallel(threads, rows, 16, gather_range, &j);
}

typedef struct {
	float *d;
	const float *a, *b;
	const int32_t *ia, *ib;
	int64_t n;
} addition;

GX_CLONES static void add_range(const void *arg, int64_t begin, int64_t end) {
	const addition *j = arg;
	const int64_t n = j->n;
	for (int64_t i = begin; i < end; i++) {
		float *restrict d = j->d + i * n;
		const float *a = j->a + j->ia[i] * n, *b = j->b + j->ib[i] * n;
		if (j->ib[i] < 0)
			memcpy(d, a, (size_t)n * sizeof(float));
		else if (j->ia[i] < 0)
			memcpy(d, b, (size_t)n * sizeof(float));
		else
			for (int64_t k = 0; k < n; k++) d[k] = a[k] + b[k];
	}
}

void gx_add_rows(float *d, const float *a, const int32_t *ia, const float *b, const int32_t *ib,
	int64_t rows, int64_t n, int threads) {
	addition j = {d, a, b, ia, ib, n};
	gx_parallel(threads, rows, 16, add_range, &j);
}
