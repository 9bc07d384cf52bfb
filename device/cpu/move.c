#include "move.h"

#include "gx.h"
#include "turn.h"

typedef struct {
	char *d;
	const char *s;
	gx_view v; // of s
	gx_copier copy; // for lines without a stride
} job;

#define LINES(T) \
	GX_CLONES static void gather_##T(T *restrict d, const T *restrict s, int64_t n, int64_t stride) { \
		if (stride == 0) { \
			T x = *s; \
			for (int64_t i = 0; i < n; i++) d[i] = x; \
		} else if (stride == -1) { \
			for (int64_t i = 0; i < n; i++) d[i] = s[-i]; \
		} else { \
			for (int64_t i = 0; i < n; i++) d[i] = s[i * stride]; \
		} \
	} \
	/* tile_T transposes: line r of d takes its elements stride apart, lines being neighbours in s */ \
	GX_CLONES static void tile_##T(T *restrict d, int64_t dpitch, const T *restrict s, int64_t stride, int64_t lines, int64_t n) { \
		enum { SIDE = 16 }; \
		for (int64_t c = 0; c < n; c += SIDE) \
			for (int64_t r = 0; r < lines; r += SIDE) { \
				int64_t ce = gx_min(n, c + SIDE), re = gx_min(lines, r + SIDE); \
				if (ce - c == SIDE && re - r == SIDE) { \
					T t[SIDE][SIDE]; \
					for (int k = 0; k < SIDE; k++) \
						for (int l = 0; l < SIDE; l++) t[l][k] = s[(c + k) * stride + r + l]; \
					for (int l = 0; l < SIDE; l++) memcpy(d + (r + l) * dpitch + c, t[l], sizeof t[l]); \
					continue; \
				} \
				for (int64_t l = r; l < re; l++) \
					for (int64_t k = c; k < ce; k++) d[l * dpitch + k] = s[k * stride + l]; \
			} \
	}
LINES(uint8_t)
LINES(uint16_t)
LINES(uint32_t)
LINES(uint64_t)

enum { SQUARE = 16 };

// wide_tile is tile_uint32_t of whole squares, past the caches when told to.

#if defined(__x86_64__)
GX_WIDE static void wide_tile(uint32_t *d, int64_t dpitch, const uint32_t *s, int64_t stride,
	int64_t lines, int64_t n, int past) {
	for (int64_t c = 0; c + SQUARE <= n; c += SQUARE)
		for (int64_t l = 0; l + SQUARE <= lines; l += SQUARE) {
			__m512 r[SQUARE];
			for (int k = 0; k < SQUARE; k++) r[k] = _mm512_loadu_ps(s + (c + k) * stride + l);
			gx_turn(r);
			float *to = (float *)d + l * dpitch + c;
			for (int k = 0; k < SQUARE; k++) {
				if (past)
					_mm512_stream_ps(to + k * dpitch, r[k]);
				else
					_mm512_storeu_ps(to + k * dpitch, r[k]);
			}
		}
	gx_streamed();
}
#else
static void wide_tile(uint32_t *d, int64_t dpitch, const uint32_t *s, int64_t stride, int64_t lines,
	int64_t n, int past) {}
#endif

// tile32 is tile_uint32_t with the longest vectors that there are.
static void tile32(uint32_t *d, int64_t dpitch, const uint32_t *s, int64_t stride, int64_t lines,
	int64_t n, int large) {
	int64_t l = 0, c = 0;
	if (gx_is_v4()) {
		l = lines / SQUARE * SQUARE;
		c = n / SQUARE * SQUARE;
		wide_tile(d, dpitch, s, stride, l, c, large && (uintptr_t)d % 64 == 0 &&
			dpitch % SQUARE == 0);
	}
	if (c < n) tile_uint32_t(d + c, dpitch, s + c * stride, stride, l, n - c);
	if (l < lines) tile_uint32_t(d + l * dpitch, dpitch, s + l, stride, lines - l, n);
}

// line moves the innermost axis.
static void line(char *d, const char *s, const job *j, int64_t n, int64_t stride) {
	const gx_view *v = &j->v;
	if (stride == 1) {
		j->copy(d, s, (size_t)(n * v->size));
		return;
	}
#define LINE(T) gather_##T((T *)d, (const T *)s, n, stride)
	switch (v->size) {
	case 1: LINE(uint8_t); return;
	case 2: LINE(uint16_t); return;
	case 4: LINE(uint32_t); return;
	default: LINE(uint64_t); return;
	}
}

// lines_range moves lines [begin, end): all axes but the innermost, row-major.
static void lines_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_view *v = &j->v;
	int last = (int)v->n - 1;
	int64_t at[GX_MAX_DIMS], off = 0, rest = begin, n = v->dims[last], dense = n * v->size;
	for (int k = last - 1; k >= 0; k--) {
		at[k] = rest % v->dims[k];
		rest /= v->dims[k];
		off += at[k] * v->stride[k];
	}
	for (int64_t r = begin; r < end; r++) {
		line(j->d + r * dense, j->s + off * v->size, j, n, v->stride[last]);
		for (int k = last - 1; k >= 0; k--) {
			off += v->stride[k];
			if (++at[k] < v->dims[k]) break;
			off -= v->stride[k] * at[k];
			at[k] = 0;
		}
	}
	gx_streamed();
}

// tiles is a transposition of two axes of a larger array: outer axes and an axis with neighbours in
// the source are walked, the innermost axis has a stride.
typedef struct {
	char *d;
	const char *s;
	const gx_view *v;
	int unit; // the axis with stride 1
	int64_t pitch, groups;
	int large; // the output, for a cache
} tiles;

enum { TILE_LINES = 64 };

static void tiles_range(const void *arg, int64_t begin, int64_t end) {
	const tiles *t = arg;
	const gx_view *v = t->v;
	int last = (int)v->n - 1;
	int64_t n = v->dims[last], stride = v->stride[last], size = v->size;
	for (int64_t it = begin; it < end; it++) {
		int64_t first = it % t->groups * TILE_LINES, rest = it / t->groups, soff = first,
			doff = first * t->pitch, pitch = n;
		for (int k = last - 1; k >= 0; k--) {
			if (k != t->unit) {
				int64_t at = rest % v->dims[k];
				rest /= v->dims[k];
				soff += at * v->stride[k];
				doff += at * pitch;
			}
			pitch *= v->dims[k];
		}
		int64_t lines = gx_min(TILE_LINES, v->dims[t->unit] - first);
		char *d = t->d + doff * size;
		const char *s = t->s + soff * size;
		switch (size) {
		case 1: tile_uint8_t((uint8_t *)d, t->pitch, (const uint8_t *)s, stride, lines, n); break;
		case 2: tile_uint16_t((uint16_t *)d, t->pitch, (const uint16_t *)s, stride, lines, n);
			break;
		case 4: tile32((uint32_t *)d, t->pitch, (const uint32_t *)s, stride, lines, n, t->large);
			break;
		default: tile_uint64_t((uint64_t *)d, t->pitch, (const uint64_t *)s, stride, lines, n);
			break;
		}
	}
}

static gx_copier copier(const gx_view *v, int64_t lines) {
	return gx_copier_of(v->dims[v->n - 1] * v->size, lines);
}

static int64_t count(const gx_view *v, int axes) {
	int64_t n = 1;
	for (int k = 0; k < axes; k++) n *= v->dims[k];
	return n;
}

// gather_tiles handles the case of an innermost axis with a stride and another axis without; it
// returns 0 for others.
static int gather_tiles(char *d, const char *s, const gx_view *v, int threads) {
	int last = (int)v->n - 1, unit = -1;
	for (int k = 0; k < last; k++)
		if (v->stride[k] == 1) unit = k;
	if (unit < 0 || v->stride[last] <= 1 || v->dims[unit] < 4 || v->dims[last] < 4) return 0;
	int64_t pitch = 1;
	for (int k = unit + 1; k <= last; k++) pitch *= v->dims[k];
	tiles t = {d, s, v, unit, pitch, (v->dims[unit] + TILE_LINES - 1) / TILE_LINES,
		count(v, last + 1) >= GX_LARGE};
	gx_parallel(threads, count(v, last) / v->dims[unit] * t.groups, 1, tiles_range, &t);
	return 1;
}

void gx_gather_view(void *d, const void *s, const gx_view *v, int threads) {
	int64_t lines = count(v, (int)v->n - 1);
	if (lines * v->dims[v->n - 1] == 0 || gather_tiles(d, s, v, threads)) return;
	job j = {d, s, *v, copier(v, lines)};
	gx_parallel(threads, lines, 1, lines_range, &j);
}

typedef struct {
	char *d;
	const char *s;
	int64_t dpitch, spitch, bytes;
	gx_copier copy;
} rows_job;

static void rows_range(const void *arg, int64_t begin, int64_t end) {
	const rows_job *j = arg;
	for (int64_t r = begin; r < end; r++)
		j->copy(j->d + r * j->dpitch, j->s + r * j->spitch, (size_t)j->bytes);
	gx_streamed();
}

void gx_copy_rows(void *d, int64_t dpitch, const void *s, int64_t spitch, int64_t bytes,
	int64_t rows, int threads) {
	rows_job j = {d, s, dpitch, spitch, bytes, gx_copier_of(bytes, rows)};
	gx_parallel(threads, rows, 1, rows_range, &j);
}
