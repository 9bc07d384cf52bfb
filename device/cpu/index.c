#include "index.h"

#include "gx.h"

// clip_float cuts a number off to an integer; NaN is 0.
static inline int64_t clip_float(double f) {
	return f >= -9e18 && f <= 9e18 ? (int64_t)f : (f > 0 ? INT64_MAX : 0);
}

static inline int64_t row_of(const gx_indices *x, const void *index, int64_t i) {
	int64_t k;
	switch (x->type) {
	case GX_F32: k = clip_float(((const float *)index)[i]); break;
	case GX_F64: k = clip_float(((const double *)index)[i]); break;
	case GX_I32: k = ((const int32_t *)index)[i]; break;
	case GX_I64: k = ((const int64_t *)index)[i]; break;
	case GX_I8: k = ((const int8_t *)index)[i]; break;
	default: k = ((const uint8_t *)index)[i];
	}
	if (x->mode == GX_WRAP) {
		k %= x->rows;
		return k < 0 ? k + x->rows : k;
	}
	return gx_max(0, gx_min(k, x->rows - 1));
}

// some copies rows from[i] to from[i+n] of a table.
typedef struct job job;
typedef void (*some_fn)(const job *j, char *d, const char *s, const int64_t *from, int64_t n);

struct job {
	char *d;
	const char *s;
	const void *index;
	const gx_indices *what;
	int64_t *from; // distances of the rows from the beginning of a table, in elements
	int64_t width, size;
	some_fn some;
	gx_copier copy;
};

// ahead starts to load a row, whose place no processor guesses.
static inline void ahead(const char *row, int64_t bytes) {
	for (int64_t i = 0; i < bytes && i < 512; i += 64) __builtin_prefetch(row + i);
}

static void some_rows(const job *j, char *d, const char *s, const int64_t *from, int64_t n) {
	const int64_t bytes = j->width * j->size;
	for (int64_t i = 0; i < n; i++) {
		if (i + 1 < n) ahead(s + from[i + 1] * j->size, bytes);
		j->copy(d + i * bytes, s + from[i] * j->size, (size_t)bytes);
	}
}

// Rows of one element
#define SOME(T) \
	GX_CLONES static void some_##T(const job *j, char *pd, const char *ps, const int64_t *from, \
		int64_t n) { \
		T *d = (T *)pd; \
		const T *s = (const T *)ps; \
		GX_EACH(i, 0, n) d[i] = s[from[i]]; \
	}
SOME(uint8_t)
SOME(uint16_t)
SOME(uint32_t)
SOME(uint64_t)

static some_fn some_of(int64_t width, int64_t size) {
	if (width != 1) return some_rows;
	return size == 1 ? some_uint8_t : size == 2 ? some_uint16_t
		: size == 4 ? some_uint32_t : some_uint64_t;
}

// take selects from the rows of each of several tables; items are (outer, index).
static void take(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const int64_t count = j->what->n, bytes = j->width * j->size;
	int64_t o = begin / count, i = begin % count;
	for (int64_t it = begin, n; it < end; it += n, i = 0, o++) {
		n = gx_min(count - i, end - it);
		j->some(j, j->d + it * bytes, j->s + o * j->what->rows * bytes, j->from + i, n);
	}
	gx_streamed();
}

static void find(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) j->from[i] = row_of(j->what, j->index, i) * j->width;
}

void gx_take(void *d, const void *s, const void *index, const gx_indices *what, int64_t *from,
	int64_t outer, int64_t width, int64_t size, int threads) {
	job j = {d, s, index, what, from, width, size, some_of(width, size),
		gx_copier_of(width * size, outer * what->n)};
	if (what->rows == 0) return;
	gx_parallel(threads, what->n, 4096, find, &j);
	gx_parallel(threads, outer * what->n, 16, take, &j);
}

GX_CLONES static void add_row(float *restrict d, const float *restrict s, int64_t n) {
	for (int64_t i = 0; i < n; i++) d[i] += s[i];
}

typedef struct {
	float *d;
	const float *s;
	const void *index;
	const gx_indices *what;
	int64_t width;
} sums;

// lookup_add owns rows [begin, end) of d and looks for their indices: nothing depends on the number
// of threads.
static void lookup_add(const void *arg, int64_t begin, int64_t end) {
	const sums *j = arg;
	memset(j->d + begin * j->width, 0, (size_t)((end - begin) * j->width) * sizeof(float));
	for (int64_t i = 0; i < j->what->n; i++) {
		int64_t k = row_of(j->what, j->index, i);
		if (k >= begin && k < end) add_row(j->d + k * j->width, j->s + i * j->width, j->width);
	}
}

void gx_lookup_add(float *d, const float *s, const void *index, const gx_indices *what,
	int64_t width, int threads) {
	sums j = {d, s, index, what, width};
	gx_parallel(threads, what->rows, 16, lookup_add, &j);
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
