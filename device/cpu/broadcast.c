#include "elem.h"
#include "gxmath.h"

// row_fn computes n neighbouring elements; an operand either runs along or stays at one element.
typedef void (*row_fn)(void *d, const void *a, const void *b, int64_t n);

#define DEFINE_ROWS_OF(T, name, expr) \
	GX_CLONES static void vv_##T##name(void *pd, const void *pa, const void *pb, int64_t n) { \
		T *d = pd; \
		const T *as = pa, *bs = pb; \
		GX_EACH(i, 0, n) { \
			const T a = as[i], b = bs[i]; \
			d[i] = expr; \
		} \
	} \
	GX_CLONES static void vs_##T##name(void *pd, const void *pa, const void *pb, int64_t n) { \
		T *d = pd; \
		const T *as = pa, b = *(const T *)pb; \
		GX_EACH(i, 0, n) { \
			const T a = as[i]; \
			d[i] = expr; \
		} \
	} \
	GX_CLONES static void sv_##T##name(void *pd, const void *pa, const void *pb, int64_t n) { \
		T *d = pd; \
		const T *bs = pb, a = *(const T *)pa; \
		GX_EACH(i, 0, n) { \
			const T b = bs[i]; \
			d[i] = expr; \
		} \
	}
#define DEFINE_ROWS(name, expr) DEFINE_ROWS_OF(float, name, expr)
typedef _Bool truth;
GX_ZIPS(DEFINE_ROWS)
GX_WHOLE_ZIPS(DEFINE_ROWS_OF, uint8_t, unsigned)
GX_WHOLE_ZIPS(DEFINE_ROWS_OF, int32_t, uint32_t)
GX_WHOLE_ZIPS(DEFINE_ROWS_OF, int64_t, uint64_t)
GX_LOGIC_ZIPS(DEFINE_ROWS_OF, truth)

#define ENTRY_OF(T, name, expr) [GX_##name] = {vv_##T##name, vs_##T##name, sv_##T##name},
#define ENTRY(name, expr) ENTRY_OF(float, name, expr)
static const row_fn rows[GX_NUM_TYPES][GX_NUM_ZIPS][3] = {
	[GX_F32] = {GX_ZIPS(ENTRY)}, [GX_U8] = {GX_WHOLE_ZIPS(ENTRY_OF, uint8_t, unsigned)},
	[GX_I32] = {GX_WHOLE_ZIPS(ENTRY_OF, int32_t, uint32_t)},
	[GX_I64] = {GX_WHOLE_ZIPS(ENTRY_OF, int64_t, uint64_t)},
	[GX_BOOL] = {GX_LOGIC_ZIPS(ENTRY_OF, truth)},
};
static const int8_t sizes[GX_NUM_TYPES] = {[GX_F32] = 4, [GX_U8] = 1, [GX_I32] = 4, [GX_I64] = 8,
	[GX_BOOL] = 1};

typedef struct {
	char *d;
	const char *a, *b;
	const gx_shape *shape;
	row_fn fn;
	int64_t size;   // bytes of an element
	int64_t sa, sb; // bytes from an element of a row to the next: size or 0
	int large;
} job;

// row computes a row, one of a large output past the caches.
static void row(const job *j, char *d, const char *a, const char *b, int64_t n) {
	if (!j->large || n < GX_STREAM) {
		j->fn(d, a, b, n);
		return;
	}
	char block[GX_STREAM * 8] __attribute__((aligned(64)));
	for (int64_t i = 0; i < n; i += GX_STREAM) {
		int64_t w = gx_min(GX_STREAM, n - i);
		j->fn(block, a + i * j->sa, b + i * j->sb, w);
		gx_copy_past(d + i * j->size, block, (size_t)(w * j->size));
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
	int64_t n = sh->dims[last], size = j->size;
	for (int64_t r = begin; r < end; r++) {
		row(j, j->d + r * n * size, j->a + oa * size, j->b + ob * size, n);
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

// part computes elements [begin, end) of the only row.
static void part(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	row(j, j->d + begin * j->size, j->a + begin * j->sa, j->b + begin * j->sb, end - begin);
	gx_streamed();
}

int gx_broadcasts(int op, int type) { return rows[type][op][0] != 0; }

void gx_broadcast(int op, int type, void *d, const void *a, const void *b, const gx_shape *shape,
	int threads) {
	int last = (int)shape->n - 1;
	int form = shape->b[last] == 0 ? 1 : shape->a[last] == 0 ? 2 : 0;
	int64_t count = 1, n = shape->dims[last], size = sizes[type];
	for (int k = 0; k < last; k++) count *= shape->dims[k];
	int large = count * n * size >= GX_LARGE * 4 && d != a && d != b;
	job j = {d, a, b, shape, rows[type][op][form], size, shape->a[last] * size,
		shape->b[last] * size, large};
	if (last == 0)
		gx_parallel(threads, n, 1024, part, &j);
	else
		gx_parallel(threads, count, 1, rows_range, &j);
}
