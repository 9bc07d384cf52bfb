#include "index.h"

#include "gx.h"

typedef struct {
	float *d;
	const float *s, *index;
	int64_t n, rows, width;
	int mode;
	gx_copier copy;
} job;

static inline int64_t row_of(const job *j, int64_t i) {
	float f = j->index[i];
	int64_t k = f >= -9e18f && f <= 9e18f ? (int64_t)f : (f > 0 ? INT64_MAX : 0);
	if (j->mode == GX_WRAP) {
		k %= j->rows;
		return k < 0 ? k + j->rows : k;
	}
	return gx_max(0, gx_min(k, j->rows - 1));
}

// ahead starts to load a row, whose place no processor guesses.
static inline void ahead(const float *row, int64_t width) {
	for (int64_t i = 0; i < width && i < 128; i += 16) __builtin_prefetch(row + i);
}

// take selects from the rows of each of several tables; items are (outer, index).
static void take(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const int64_t width = j->width;
	int64_t o = begin / j->n, i = begin % j->n;
	const float *table = j->s + o * j->rows * width,
		*s = begin < end ? table + row_of(j, i) * width : 0;
	for (int64_t it = begin; it < end; it++) {
		const float *row = s;
		if (++i == j->n) {
			i = 0;
			table += j->rows * width;
		}
		if (it + 1 < end) {
			s = table + row_of(j, i) * width;
			ahead(s, width);
		}
		float *d = j->d + it * width;
		if (width == 1)
			*d = *row;
		else
			j->copy(d, row, (size_t)width * sizeof(float));
	}
	gx_streamed();
}

void gx_take(float *d, const float *s, const float *index, int64_t outer, int64_t n, int64_t rows,
	int64_t width, int mode, int threads) {
	job j = {d, s, index, n, rows, width, mode, gx_copier_of(width * 4, outer * n)};
	if (rows > 0) gx_parallel(threads, outer * n, 16, take, &j);
}

void gx_lookup(float *d, const float *w, const float *index, int64_t n, int64_t rows, int64_t width,
	int mode, int threads) {
	gx_take(d, w, index, 1, n, rows, width, mode, threads);
}

GX_CLONES static void add_row(float *restrict d, const float *restrict s, int64_t n) {
	for (int64_t i = 0; i < n; i++) d[i] += s[i];
}

// lookup_add owns rows [begin, end) of d and looks for their indices: nothing depends on the number
// of threads.
static void lookup_add(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	memset(j->d + begin * j->width, 0, (size_t)((end - begin) * j->width) * sizeof(float));
	for (int64_t i = 0; i < j->n; i++) {
		int64_t k = row_of(j, i);
		if (k >= begin && k < end) add_row(j->d + k * j->width, j->s + i * j->width, j->width);
	}
}

void gx_lookup_add(float *d, const float *s, const float *index, int64_t n, int64_t rows,
	int64_t width, int mode, int threads) {
	job j = {d, s, index, n, rows, width, mode};
	gx_parallel(threads, rows, 16, lookup_add, &j);
}

typedef struct {
	float *d;
	const float *index;
	int64_t depth;
	float on, off;
} hot;

static void one_hot(const void *arg, int64_t begin, int64_t end) {
	const hot *j = arg;
	for (int64_t i = begin; i < end; i++) {
		float *d = j->d + i * j->depth, f = j->index[i];
		for (int64_t k = 0; k < j->depth; k++) d[k] = j->off;
		if (f > -1.0f && f < (float)j->depth) d[(int64_t)f] = j->on;
	}
}

void gx_one_hot(float *d, const float *index, int64_t n, int64_t depth, float on, float off,
	int threads) {
	if (!depth) // rows without elements have no memory
		return;
	hot j = {d, index, depth, on, off};
	gx_parallel(threads, n, 16, one_hot, &j);
}

typedef struct {
	float *d;
	const float *x;
	const uint8_t *mask;
	float scale;
} masking;

GX_CLONES static void mask_range(const void *arg, int64_t begin, int64_t end) {
	const masking *j = arg;
	float *d = j->d;
	const float *x = j->x, scale = j->scale;
	const uint8_t *mask = j->mask;
	GX_EACH(i, begin, end) {
		const float v = x[i] * scale;
		d[i] = mask[i] ? v : 0.0f;
	}
}

void gx_mask(float *d, const float *x, const uint8_t *mask, int64_t n, float scale, int threads) {
	masking j = {d, x, mask, scale};
	gx_parallel(threads, n, 1024, mask_range, &j);
}
