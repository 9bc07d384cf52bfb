#include "elem.h"

#include "gxmath.h"

enum { GRAIN = 1024 };

static inline float gx_clamp(float x, float lo, float hi) { return x < lo ? lo : (x > hi ? hi : x); }

typedef struct {
	float *d;
	const float *a, *b;
	float s, t;
} job;

#define DEFINE_MAP(name, expr) \
	GX_CLONES static void map_##name(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		float *d = j->d; \
		const float *a = j->a; \
		const float s = j->s, t = j->t; \
		(void)s, (void)t; \
		GX_EACH(i, begin, end) { \
			const float x = a[i]; \
			d[i] = expr; \
		} \
	}
GX_MAPS(DEFINE_MAP)

// streamed computes blocks of a large output in the cache and copies them past it.
typedef struct {
	job j;
	gx_range_fn fn;
} streamed;

static void stream_range(const void *arg, int64_t begin, int64_t end) {
	const streamed *s = arg;
	float block[GX_STREAM] __attribute__((aligned(64)));
	for (int64_t b = begin; b < end; b += GX_STREAM) {
		int64_t n = gx_min(GX_STREAM, end - b);
		job j = s->j;
		j.d = block, j.a += b;
		if (j.b) j.b += b;
		s->fn(&j, 0, n);
		gx_stream(s->j.d + b, block, n);
	}
	gx_streamed();
}

// run does n elements of j; an output in the place of an input is in the cache when it is written.
static void run(gx_range_fn fn, const job *j, int64_t n, int threads) {
	if (n < GX_LARGE || j->d == j->a || j->d == j->b) {
		gx_parallel(threads, n, GRAIN, fn, j);
		return;
	}
	streamed s = {*j, fn};
	gx_parallel(threads, n, GRAIN, stream_range, &s);
}

#define MAP_ENTRY(name, expr) [GX_##name] = map_##name,
static const gx_range_fn maps[] = {GX_MAPS(MAP_ENTRY)};

void gx_map(int op, float *d, const float *x, int64_t n, float s, float t, int threads) {
	job j = {d, x, 0, s, t};
	run(maps[op], &j, n, threads);
}

void gx_map_block(int op, float *d, const float *x, int64_t n, float s, float t) {
	job j = {d, x, 0, s, t};
	maps[op](&j, 0, n);
}

#define DEFINE_ZIP(name, expr) \
	GX_CLONES static void zip_##name(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		float *d = j->d; \
		const float *pa = j->a, *pb = j->b; \
		const float s = j->s, t = j->t; \
		(void)s, (void)t; \
		GX_EACH(i, begin, end) { \
			const float a = pa[i], b = pb[i]; \
			d[i] = expr; \
		} \
	}
GX_ZIPS(DEFINE_ZIP)
GX_GRADS(DEFINE_ZIP)

#define ZIP_ENTRY(name, expr) [GX_##name] = zip_##name,
static const gx_range_fn zips[] = {GX_ZIPS(ZIP_ENTRY) GX_GRADS(ZIP_ENTRY)};

void gx_zip(int op, float *d, const float *a, const float *b, int64_t n, float s, float t, int threads) {
	job j = {d, a, b, s, t};
	run(zips[op], &j, n, threads);
}

void gx_zip_block(int op, float *d, const float *a, const float *b, int64_t n, float s, float t) {
	job j = {d, a, b, s, t};
	zips[op](&j, 0, n);
}

typedef struct {
	void *d;
	const void *c, *a, *b;
} choice;

#define SELECT(C, T) \
	GX_CLONES static void select_##C##_##T(const void *arg, int64_t begin, int64_t end) { \
		const choice *j = arg; \
		T *d = j->d; \
		const T *a = j->a, *b = j->b; \
		const C *c = j->c; \
		GX_EACH(i, begin, end) { \
			const T x = a[i], y = b[i]; \
			d[i] = c[i] != 0 ? x : y; \
		} \
	}
#define SELECTS(C) SELECT(C, uint8_t) SELECT(C, int32_t) SELECT(C, int64_t)
SELECTS(float)
SELECTS(double)
SELECTS(uint8_t)
SELECTS(int32_t)
SELECTS(int64_t)

#define SELECT_ENTRY(C) {select_##C##_uint8_t, select_##C##_int32_t, select_##C##_int64_t}
static const gx_range_fn selects[GX_NUM_TYPES][3] = {[GX_F32] = SELECT_ENTRY(float),
	[GX_F64] = SELECT_ENTRY(double), [GX_U8] = SELECT_ENTRY(uint8_t),
	[GX_I8] = SELECT_ENTRY(uint8_t), [GX_BOOL] = SELECT_ENTRY(uint8_t),
	[GX_I32] = SELECT_ENTRY(int32_t), [GX_I64] = SELECT_ENTRY(int64_t)};

void gx_select(void *d, const void *c, int ctype, const void *a, const void *b, int64_t n, int size,
	int threads) {
	choice j = {d, c, a, b};
	gx_parallel(threads, n, GRAIN, selects[ctype][size == 8 ? 2 : size == 4], &j);
}

GX_CLONES static void fill_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float *d = j->d;
	const float s = j->s;
	GX_EACH(i, begin, end) d[i] = s;
}

void gx_fill(float *d, int64_t n, float v, int threads) {
	job j = {d, 0, 0, v, 0};
	gx_parallel(threads, n, GRAIN, fill_range, &j);
}
