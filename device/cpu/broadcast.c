#include "elem.h"
#include "gxmath.h"

// row_fn computes n neighbouring elements; an operand either runs along or stays at one element.
typedef void (*row_fn)(float *d, const float *a, const float *b, int64_t n);

#define DEFINE_ROWS(name, expr) \
	GX_CLONES static void vv_##name(float *d, const float *pa, const float *pb, int64_t n) { \
		GX_EACH(i, 0, n) { \
			const float a = pa[i], b = pb[i]; \
			d[i] = expr; \
		} \
	} \
	GX_CLONES static void vs_##name(float *d, const float *pa, const float *pb, int64_t n) { \
		const float b = *pb; \
		GX_EACH(i, 0, n) { \
			const float a = pa[i]; \
			d[i] = expr; \
		} \
	} \
	GX_CLONES static void sv_##name(float *d, const float *pa, const float *pb, int64_t n) { \
		const float a = *pa; \
		GX_EACH(i, 0, n) { \
			const float b = pb[i]; \
			d[i] = expr; \
		} \
	}
GX_ZIPS(DEFINE_ROWS)

#define ROW_ENTRY(name, expr) [GX_##name] = {vv_##name, vs_##name, sv_##name},
static const row_fn rows[][3] = {GX_ZIPS(ROW_ENTRY)};

typedef struct {
	float *d;
	const float *a, *b;
	const gx_shape *shape;
	row_fn fn;
	int64_t sa, sb; // strides of a row, 0 or 1
	int large;
} job;

// row computes a row, one of a large output past the caches.
static void row(const job *j, float *d, const float *a, const float *b, int64_t n) {
	if (!j->large || n < GX_STREAM) {
		j->fn(d, a, b, n);
		return;
	}
	float block[GX_STREAM] __attribute__((aligned(64)));
	for (int64_t i = 0; i < n; i += GX_STREAM) {
		int64_t w = gx_min(GX_STREAM, n - i);
		j->fn(block, a + i * j->sa, b + i * j->sb, w);
		gx_stream(d + i, block, w);
	}
}

// rows_range computes rows [begin, end), a row being the innermost axis.
static void rows_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_shape *sh = j->shape;
	int last = (int)sh->n - 1;
	int64_t at[GX_MAX_DIMS], oa = 0, ob = 0, rest = begin;
	for (int k = last - 1; k >= 0; k--) {
		at[k] = rest % sh->dims[k];
		rest /= sh->dims[k];
		oa += at[k] * sh->a[k];
		ob += at[k] * sh->b[k];
	}
	int64_t n = sh->dims[last];
	for (int64_t r = begin; r < end; r++) {
		row(j, j->d + r * n, j->a + oa, j->b + ob, n);
		for (int k = last - 1; k >= 0; k--) {
			oa += sh->a[k];
			ob += sh->b[k];
			if (++at[k] < sh->dims[k]) break;
			oa -= sh->a[k] * at[k];
			ob -= sh->b[k] * at[k];
			at[k] = 0;
		}
	}
	gx_streamed();
}

void gx_broadcast(int op, float *d, const float *a, const float *b, const gx_shape *shape,
	int threads) {
	int last = (int)shape->n - 1;
	int form = shape->b[last] == 0 ? 1 : shape->a[last] == 0 ? 2 : 0;
	int64_t count = 1;
	for (int k = 0; k < last; k++) count *= shape->dims[k];
	int large = count * shape->dims[last] >= GX_LARGE && d != a && d != b;
	job j = {d, a, b, shape, rows[op][form], shape->a[last], shape->b[last], large};
	gx_parallel(threads, count, 1, rows_range, &j);
}
