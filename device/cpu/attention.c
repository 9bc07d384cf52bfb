#include "attention.h"

#include "gxmath.h"
#include "philox.h"

// Blocks of queries meet blocks of keys, as in FlashAttention (Dao et al., 2022). A query keeps the
// greatest score and the sum of exponents so far. One thread owns all results of an item, and goes
// over keys in order, so that results do not depend on the number of threads.

enum { ROWS = 96, KEYS = WORDS, WIDE = 32 };

#define INLINE static inline __attribute__((always_inline))

typedef struct {
	void *y;
	const void *q, *k, *v;
	float *lse, *scratch;
	const gx_attention *p;
	const gx_attention_grads *g;
	int64_t *taken, blocks, room, splits;
	float *parts; // of the splits
	int part;
} job;

enum { FORWARD, GRADS, MASK, THIN, MERGE }; // parts of a job

// So few rows that share keys go over the keys as they lie. The keys are split into parts, so that
// all threads have work where there are few heads.
enum { THIN_ROWS = 8, SPAN = 4 * KEYS };

static int64_t padded(int64_t n) { return (n + WIDE - 1) / WIDE * WIDE; }

static int thin(const gx_attention *p) { return p->group * p->n <= THIN_ROWS; }

static int64_t splits_of(const gx_attention *p) { return (p->keys + SPAN - 1) / SPAN; }

// A part holds sums of values for each row, and the greatest score and the sum of exponents.
static int64_t part_size(const gx_attention *p) {
	return p->group * p->n * (padded(p->size) + 2);
}

// matrix says where element (i, j) of a factor is: at a[i * down + j * along].
typedef struct {
	const float *a;
	int64_t down, along;
} matrix;

// A multiplier writes to c the product of a, rows x k, and b, k x cols, or adds it if add is set.
// cols is a multiple of WIDE. Rows of b are ldb elements apart, rows of c are ldc apart.
typedef void (*multiplier)(float *c, int64_t ldc, matrix a, const float *b, int64_t ldb,
	int64_t rows, int64_t k, int64_t cols, int add);

// A dropper writes the factors of the weights of row r of sequence b and group g from key first on.
typedef void (*dropper)(float *f, const gx_attention *p, int64_t b, int64_t g, int64_t r,
	int64_t first);

// A level is the code of one kind of processor that parts of a job call. Its products have tiles of
// high rows, of which rows is a multiple.
typedef struct {
	multiplier multiply;
	dropper drops;
	int high;
} level;

// MULTIPLY defines the multiplier of a level. A tile has two vectors to a row, whose lanes are a
// register of the processor. It is a function of its own, because inlined at each of its calls it
// takes the compiler a minute.
#define MULTIPLY(name, attribute, tall, vector, at, lanes) \
	attribute static void multiply_##name(float *c, int64_t ldc, matrix a, const float *b, \
		int64_t ldb, int64_t rows, int64_t k, int64_t cols, int add) { \
		for (int64_t x = 0; x < cols; x += 2 * lanes) \
			for (int64_t r = 0; r < rows; r += tall) { \
				vector lo[tall], hi[tall]; \
				float *to = c + r * ldc + x; \
				_Pragma("GCC unroll 8") for (int i = 0; i < tall; i++) { \
					lo[i] = hi[i] = (vector){}; \
					if (add) lo[i] = at(to + i * ldc), hi[i] = at(to + i * ldc + lanes); \
				} \
				const float *f = a.a + r * a.down; \
				for (int64_t t = 0; t < k; t++, f += a.along) { \
					vector u = at(b + t * ldb + x), w = at(b + t * ldb + x + lanes); \
					_Pragma("GCC unroll 8") for (int i = 0; i < tall; i++) { \
						vector e = f[i * a.down] - (vector){}; \
						lo[i] += e * u; \
						hi[i] += e * w; \
					} \
				} \
				_Pragma("GCC unroll 8") for (int i = 0; i < tall; i++) { \
					at(to + i * ldc) = lo[i]; \
					at(to + i * ldc + lanes) = hi[i]; \
				} \
			} \
	}

// whole rounds a number of rows up to whole tiles.
INLINE int64_t whole(const level *l, int64_t rows) {
	return (rows + l->high - 1) / l->high * l->high;
}

// load_row reads n numbers of an array, which are bfloat16 if narrow is set, from number at on.
INLINE void load_row(float *d, const void *s, int64_t at, int64_t n, int narrow) {
	if (!narrow) {
		memcpy(d, (const float *)s + at, (size_t)n * 4);
		return;
	}
	const uint16_t *h = (const uint16_t *)s + at;
	GX_EACH(i, 0, n) d[i] = gx_bf16_float(h[i]);
}

// store_row multiplies n numbers by f and writes them, rounded to even if narrow is set.
INLINE void store_row(void *d, int64_t at, const float *s, float f, int64_t n, int narrow) {
	if (!narrow) {
		float *to = (float *)d + at;
		for (int64_t i = 0; i < n; i++) to[i] = s[i] * f;
		return;
	}
	uint16_t *to = (uint16_t *)d + at;
	GX_EACH(i, 0, n) to[i] = gx_float_bf16(s[i] * f);
}

// gather copies rows of size elements, which are step apart, to rows of width, filled with zeros,
// and adds rows of zeros up to all.
INLINE void gather(float *d, const void *s, int64_t at, int64_t step, int64_t rows, int64_t all,
	int64_t size, int64_t width, int narrow) {
	memset(d, 0, (size_t)(all * width) * sizeof(float));
	for (int64_t r = 0; r < rows; r++) load_row(d + r * width, s, at + r * step, size, narrow);
}

// turned writes the transpose of rows to d, width x KEYS.
INLINE void turned(float *d, const void *from, int64_t at, int64_t step, int64_t rows,
	int64_t size, int64_t width, int narrow) {
	const float *s = (const float *)from + at;
	const uint16_t *h = (const uint16_t *)from + at;
	memset(d, 0, (size_t)(width * KEYS) * sizeof(float));
	for (int64_t r = 0; r < rows; r += 16)
		for (int64_t c = 0; c < size; c++)
			for (int64_t i = r; i < gx_min(r + 16, rows); i++)
				d[c * KEYS + i] = narrow ? gx_bf16_float(h[i * step + c]) : s[i * step + c];
}

// Row r of a group's queries is step r % n of head r / n of the group.
INLINE int64_t place_of(const gx_attention *p, int64_t b, int64_t g, int64_t r) {
	return ((b * p->n + r % p->n) * p->groups * p->group + g * p->group + r / p->n) * p->size;
}

INLINE void gather_queries(float *d, const void *s, const gx_attention *p, int64_t b, int64_t g,
	int64_t from, int64_t rows, int64_t all, int64_t width) {
	memset(d, 0, (size_t)(all * width) * sizeof(float));
	for (int64_t r = 0; r < rows; r++)
		load_row(d + r * width, s, place_of(p, b, g, from + r), p->size, p->narrow);
}

// limit_of returns the number of keys that row r reads.
INLINE int64_t limit_of(const gx_attention *p, int64_t b, int64_t r) {
	int64_t n = p->keys;
	if (p->lengths) n = gx_min(n, p->lengths[b]);
	if (p->causal) n = gx_min(n, r % p->n + 1 + (p->positions ? p->positions[b] : 0));
	return gx_max(n, 0);
}

INLINE int64_t most_of(const gx_attention *p, int64_t b, int64_t from, int64_t rows) {
	int64_t most = 0;
	for (int64_t r = 0; r < rows; r++) most = gx_max(most, limit_of(p, b, from + r));
	return most;
}

// score_row scales n scores of a row, which begin at key first, and adds the mask.
INLINE void score_row(float *s, const gx_attention *p, int64_t b, int64_t g, int64_t r,
	int64_t first, int64_t n) {
	const int64_t *by = p->strides;
	int64_t at = b * by[0] + (g * p->group + r / p->n) * by[1] + r % p->n * by[2] + first * by[3];
	float scale = p->scale;
	if (p->mask && by[3])
		for (int64_t i = 0; i < n; i++) s[i] = s[i] * scale + p->mask[at + i];
	else if (p->mask)
		for (int64_t i = 0; i < n; i++) s[i] = s[i] * scale + p->mask[at];
	else
		for (int64_t i = 0; i < n; i++) s[i] *= scale;
	if (p->may)
		for (int64_t i = 0; i < n; i++) s[i] = p->may[at + i * by[3]] ? s[i] : -INFINITY;
}

// drops_of is a dropper.
INLINE void drops_of(float *f, const gx_attention *p, int64_t b, int64_t g, int64_t r,
	int64_t first) {
	uint32_t w[WORDS + 4];
	int64_t row = (b * p->groups + g) * p->group * p->n + r, at = row * p->keys + first;
	const uint32_t *from = w + at % 4;
	words(w, &p->seed, (uint64_t)at / 4);
	if (at % 4) block_words(w + WORDS, &p->seed, (uint64_t)at / 4 + BLOCKS);
	for (int i = 0; i < KEYS; i++) f[i] = from[i] >> 8 < p->keep ? p->kept : 0.0f;
}

// weigh turns n scores of a row into exponents below the greatest so far.
INLINE void weigh(float *s, int64_t n, float *most, float *sum, float *factor) {
	float m = *most, old = *most, part[16] = {0};
	for (int64_t i = 0; i < n; i++) m = s[i] > m ? s[i] : m;
	float base = m == -INFINITY ? 0.0f : m;
	GX_EACH(i, 0, n) s[i] = gx_exp_down(s[i] - base);
	for (int64_t i = n; i < KEYS; i++) s[i] = 0;
	for (int64_t i = 0; i < KEYS; i += 16)
		for (int k = 0; k < 16; k++) part[k] += s[i + k];
	for (int k = 1; k < 16; k++) part[0] += part[k];
	*factor = old == -INFINITY ? 0.0f : gx_exp_down(old - base);
	*sum = *sum * *factor + part[0];
	*most = m;
}

// weigh_row turns the scores of row r, from key first on, into weights, zeros behind the first some
// of them, and drops weights. It scales o, the w sums of values so far.
INLINE void weigh_row(const level *l, float *s, const gx_attention *p, int64_t b, int64_t g,
	int64_t r, int64_t first, int64_t some, float *o, int64_t w, float *most, float *sum) {
	float factor = 1.0f;
	score_row(s, p, b, g, r, first, some);
	weigh(s, some, most, sum, &factor);
	if (p->drops && some > 0) {
		float f[KEYS];
		l->drops(f, p, b, g, r, first);
		for (int i = 0; i < KEYS; i++) s[i] *= f[i];
	}
	if (factor != 1.0f) GX_EACH(i, 0, w) o[i] *= factor;
}

// write_rows divides sums of values by the sums of exponents.
INLINE void write_rows(const job *j, const float *o, const float *most, const float *sum, int64_t b,
	int64_t g, int64_t from, int64_t rows) {
	const gx_attention *p = j->p;
	int64_t w = padded(p->size);
	for (int64_t r = 0; r < rows; r++) {
		float inv = sum[r] == 0.0f ? 0.0f : 1.0f / sum[r];
		store_row(j->y, place_of(p, b, g, from + r), o + r * w, inv, p->size, p->narrow);
		if (j->lse)
			j->lse[(b * p->groups + g) * p->group * p->n + from + r] =
				sum[r] == 0.0f ? -INFINITY : most[r] + gx_log(sum[r]);
	}
}

// dot_row returns the product of two vectors of n elements.
INLINE float dot_row(const float *a, const float *b, int64_t n) {
	gx_v8 sum[2] = {}, more[2] = {};
	int64_t i = 0;
	for (; i + 32 <= n; i += 32)
		for (int k = 0; k < 2; k++) {
			sum[k] += GX_AT8(a + i + 8 * k) * GX_AT8(b + i + 8 * k);
			more[k] += GX_AT8(a + i + 16 + 8 * k) * GX_AT8(b + i + 16 + 8 * k);
		}
	if (i + 16 <= n) {
		for (int k = 0; k < 2; k++) sum[k] += GX_AT8(a + i + 8 * k) * GX_AT8(b + i + 8 * k);
		i += 16;
	}
	for (int k = 0; k < 2; k++) sum[k] += more[k];
	float all = gx_total(sum);
	for (; i < n; i++) all += a[i] * b[i];
	return all;
}

// row_at returns n numbers of an array from number at on, in the array or in room.
INLINE const float *row_at(const void *s, int64_t at, int64_t n, float *room, int narrow) {
	if (!narrow) return (const float *)s + at;
	load_row(room, s, at, n, 1);
	return room;
}

// thin_item makes the part of one split of the keys.
INLINE void thin_item(const job *j, float *buffer, int64_t it, const level *l) {
	const gx_attention *p = j->p;
	int64_t b = it / j->splits / p->groups, g = it / j->splits % p->groups, d = p->size,
		w = padded(d), rows = p->group * p->n, step = p->groups * d,
		begin = it % j->splits * SPAN, end = gx_min(begin + SPAN, most_of(p, b, 0, rows));
	float *q = buffer, *s = q + THIN_ROWS * w, *one = s + THIN_ROWS * KEYS,
		*o = j->parts + it * part_size(p),
		*most = o + rows * w, *sum = most + rows;
	memset(o, 0, (size_t)(rows * w) * sizeof(float));
	for (int64_t r = 0; r < rows; r++) most[r] = -INFINITY, sum[r] = 0;
	gather_queries(q, j->q, p, b, g, 0, rows, rows, w);
	for (int64_t first = begin; first < end; first += KEYS) {
		int64_t n = gx_min(KEYS, end - first), at = ((b * p->keys + first) * p->groups + g) * d;
		for (int64_t i = 0; i < n; i++) {
			const float *k = row_at(j->k, at + i * step, d, one, p->narrow);
			for (int64_t r = 0; r < rows; r++) s[r * KEYS + i] = dot_row(q + r * w, k, d);
		}
		for (int64_t r = 0; r < rows; r++) {
			int64_t some = gx_max(0, gx_min(n, limit_of(p, b, r) - first));
			weigh_row(l, s + r * KEYS, p, b, g, r, first, some, o + r * w, w, most + r, sum + r);
		}
		for (int64_t i = 0; i < n; i++) {
			const float *v = row_at(j->v, at + i * step, d, one, p->narrow);
			for (int64_t r = 0; r < rows; r++) {
				float e = s[r * KEYS + i], *to = o + r * w;
				GX_EACH(c, 0, d) to[c] += e * v[c];
			}
		}
	}
}

// merge_item adds the parts of one sequence and group, in the order of the keys, to the first.
INLINE void merge_item(const job *j, float *buffer, int64_t it, const level *l) {
	(void)buffer, (void)l;
	const gx_attention *p = j->p;
	int64_t w = padded(p->size), rows = p->group * p->n, size = part_size(p);
	float *o = j->parts + it * j->splits * size, *most = o + rows * w, *sum = most + rows;
	for (int64_t k = 1; k < j->splits; k++) {
		const float *from = o + k * size, *high = from + rows * w, *add = high + rows;
		for (int64_t r = 0; r < rows; r++) {
			if (add[r] == 0.0f) continue;
			float m = high[r] > most[r] ? high[r] : most[r],
				old = most[r] == -INFINITY ? 0.0f : gx_exp_down(most[r] - m),
				new = gx_exp_down(high[r] - m);
			GX_EACH(i, 0, w) o[r * w + i] = o[r * w + i] * old + from[r * w + i] * new;
			sum[r] = sum[r] * old + add[r] * new;
			most[r] = m;
		}
	}
	write_rows(j, o, most, sum, it / p->groups, it % p->groups, 0, rows);
}

INLINE void forward_item(const job *j, float *buffer, int64_t it, const level *l) {
	const gx_attention *p = j->p;
	int64_t b = it / j->blocks / p->groups, g = it / j->blocks % p->groups, d = p->size,
		w = padded(d), from = it % j->blocks * ROWS, rows = gx_min(ROWS, p->group * p->n - from),
		all = whole(l, rows), step = p->groups * d;
	float *q = buffer, *o = q + ROWS * w, *kt = o + ROWS * w, *v = kt + KEYS * w, *s = v + KEYS * w,
		*most = s + ROWS * KEYS, *sum = most + ROWS;
	gather_queries(q, j->q, p, b, g, from, rows, all, w);
	memset(o, 0, (size_t)(all * w) * sizeof(float));
	for (int64_t r = 0; r < all; r++) most[r] = -INFINITY, sum[r] = 0;
	int64_t keys = most_of(p, b, from, rows);
	for (int64_t first = 0; first < keys; first += KEYS) {
		int64_t n = gx_min(KEYS, keys - first), at = ((b * p->keys + first) * p->groups + g) * d;
		turned(kt, j->k, at, step, n, d, w, p->narrow);
		gather(v, j->v, at, step, n, n, d, w, p->narrow);
		l->multiply(s, KEYS, (matrix){q, w, 1}, kt, KEYS, all, d, padded(n), 0);
		for (int64_t r = 0; r < all; r++) {
			int64_t some = r < rows ? gx_min(n, limit_of(p, b, from + r) - first) : 0;
			weigh_row(l, s + r * KEYS, p, b, g, from + r, first, gx_max(some, 0), o + r * w, w,
				most + r, sum + r);
		}
		l->multiply(o, w, (matrix){s, KEYS, 1}, v, w, all, n, w, 1);
	}
	write_rows(j, o, most, sum, b, g, from, rows);
}

// slope_row turns scores into weights, and the gradients of weights into gradients of scores. The
// weights are multiplied by the factors f, unless f is null.
INLINE void slope_row(float *s, float *t, const float *f, int64_t n, float lse, float delta) {
	if (f) {
		GX_EACH(i, 0, n) {
			float e = gx_exp(s[i] - lse);
			s[i] = e * f[i];
			t[i] = e * (t[i] * f[i] - delta);
		}
	} else {
		GX_EACH(i, 0, n) {
			float e = gx_exp(s[i] - lse);
			s[i] = e;
			t[i] = e * (t[i] - delta);
		}
	}
	for (int64_t i = n; i < KEYS; i++) s[i] = t[i] = 0;
}

// slopes makes of the scores s of rows, and of the gradients t of their weights, the weights and
// the gradients of the masked scores. dy has rows of w elements.
INLINE void slopes(const job *j, const level *l, float *s, float *t, const float *dy, int64_t b,
	int64_t g, int64_t from, int64_t rows, int64_t all, int64_t first, int64_t n, int64_t w) {
	const gx_attention *p = j->p;
	const gx_attention_grads *x = j->g;
	for (int64_t r = 0; r < all; r++) {
		int64_t some = r < rows ? gx_min(n, limit_of(p, b, from + r) - first) : 0;
		float delta = 0, lse = 0, f[KEYS];
		if (some > 0) {
			int64_t at = place_of(p, b, g, from + r);
			const float *y = (const float *)x->y + at;
			const uint16_t *h = (const uint16_t *)x->y + at;
			if (p->narrow)
				for (int64_t i = 0; i < p->size; i++) delta += dy[r * w + i] * gx_bf16_float(h[i]);
			else
				for (int64_t i = 0; i < p->size; i++) delta += dy[r * w + i] * y[i];
			lse = x->lse[(b * p->groups + g) * p->group * p->n + from + r];
		}
		if (some < 0 || lse == -INFINITY) some = 0;
		score_row(s + r * KEYS, p, b, g, from + r, first, some);
		if (p->drops && some > 0) l->drops(f, p, b, g, from + r, first);
		slope_row(s + r * KEYS, t + r * KEYS, p->drops ? f : 0, some, lse, delta);
	}
}

INLINE void grad_item(const job *j, float *buffer, int64_t it, const level *l) {
	const gx_attention *p = j->p;
	const gx_attention_grads *x = j->g;
	int64_t b = it / p->groups, g = it % p->groups, d = p->size, w = padded(d),
		total = p->group * p->n, step = p->groups * d;
	float *q = buffer, *dy = q + ROWS * w, *dq = dy + ROWS * w, *kt = dq + ROWS * w,
		*vt = kt + KEYS * w, *k = vt + KEYS * w, *dk = k + KEYS * w, *dv = dk + KEYS * w,
		*s = dv + KEYS * w, *t = s + ROWS * KEYS, *sum = t + ROWS * KEYS + 4 * ROWS;
	if (p->narrow) memset(sum, 0, (size_t)(total * w) * 4);
	for (int64_t r = 0; r < total && !p->narrow; r++)
		memset((float *)x->dq + place_of(p, b, g, r), 0, (size_t)d * 4);
	for (int64_t first = 0; first < p->keys; first += KEYS) {
		int64_t n = gx_min(KEYS, p->keys - first), up = (n + 7) / 8 * 8,
			at = ((b * p->keys + first) * p->groups + g) * d;
		turned(kt, x->k, at, step, n, d, w, p->narrow);
		turned(vt, x->v, at, step, n, d, w, p->narrow);
		gather(k, x->k, at, step, n, n, d, w, p->narrow);
		memset(dk, 0, (size_t)(2 * KEYS * w) * sizeof(float));
		for (int64_t from = 0; from < total; from += ROWS) {
			int64_t rows = gx_min(ROWS, total - from), all = whole(l, rows);
			if (most_of(p, b, from, rows) <= first) continue;
			gather_queries(q, x->q, p, b, g, from, rows, all, w);
			gather_queries(dy, x->dy, p, b, g, from, rows, all, w);
			l->multiply(s, KEYS, (matrix){q, w, 1}, kt, KEYS, all, d, padded(n), 0);
			l->multiply(t, KEYS, (matrix){dy, w, 1}, vt, KEYS, all, d, padded(n), 0);
			slopes(j, l, s, t, dy, b, g, from, rows, all, first, n, w);
			for (int64_t i = 0; i < all * KEYS; i++) t[i] *= p->scale;
			l->multiply(dv, w, (matrix){s, 1, KEYS}, dy, w, up, rows, w, 1);
			l->multiply(dk, w, (matrix){t, 1, KEYS}, q, w, up, rows, w, 1);
			l->multiply(dq, w, (matrix){t, KEYS, 1}, k, w, all, n, w, 0);
			for (int64_t r = 0; r < rows; r++) {
				float *to = p->narrow ? sum + (from + r) * w
					: (float *)x->dq + place_of(p, b, g, from + r);
				for (int64_t i = 0; i < d; i++) to[i] += dq[r * w + i];
			}
		}
		for (int64_t r = 0; r < n; r++) {
			store_row(x->dk, at + r * step, dk + r * w, 1.0f, d, p->narrow);
			store_row(x->dv, at + r * step, dv + r * w, 1.0f, d, p->narrow);
		}
	}
	for (int64_t r = 0; r < total && p->narrow; r++)
		store_row(x->dq, place_of(p, b, g, r), sum + r * w, 1.0f, d, 1);
}

// add_row adds the gradients of n scores to the gradients of their elements of the mask, which are
// step elements apart.
INLINE void add_row(float *d, const float *t, int64_t n, int64_t step) {
	if (step)
		for (int64_t i = 0; i < n; i++) d[i] += t[i];
	else
		for (int64_t i = 0; i < n; i++) *d += t[i];
}

// mask_item makes the gradient of one block of queries of the mask, of all of them where it
// broadcasts along queries, in the order of sequences, heads and queries.
INLINE void mask_item(const job *j, float *buffer, int64_t it, const level *l) {
	const gx_attention *p = j->p;
	const gx_attention_grads *x = j->g;
	const int64_t *by = p->strides, *of = x->masks;
	int64_t d = p->size, w = padded(d), step = p->groups * d, block = it % j->blocks,
		head = it / j->blocks % of[1], seq = it / j->blocks / of[1],
		begin = of[2] == 1 ? 0 : block * ROWS, end = of[2] == 1 ? p->n : gx_min(p->n, begin + ROWS);
	float *q = buffer, *dy = q + ROWS * w, *kt = dy + ROWS * w, *vt = kt + KEYS * w,
		*s = vt + KEYS * w, *t = s + ROWS * KEYS, *to = x->dmask + seq * by[0] + head * by[1];
	int64_t size = of[2] == 1 ? of[3] : (end - begin) * of[3];
	memset(to + begin * by[2], 0, (size_t)size * sizeof(float));
	for (int64_t b = of[0] == 1 ? 0 : seq; b < (of[0] == 1 ? p->batch : seq + 1); b++)
		for (int64_t h = of[1] == 1 ? 0 : head; h < (of[1] == 1 ? p->groups * p->group : head + 1);
			 h++)
			for (int64_t i = begin; i < end; i += ROWS) {
				int64_t g = h / p->group, from = h % p->group * p->n + i,
					rows = gx_min(ROWS, end - i), all = whole(l, rows),
					keys = most_of(p, b, from, rows);
				gather_queries(q, x->q, p, b, g, from, rows, all, w);
				gather_queries(dy, x->dy, p, b, g, from, rows, all, w);
				for (int64_t first = 0; first < keys; first += KEYS) {
					int64_t n = gx_min(KEYS, keys - first),
						at = ((b * p->keys + first) * p->groups + g) * d;
					turned(kt, x->k, at, step, n, d, w, p->narrow);
					turned(vt, x->v, at, step, n, d, w, p->narrow);
					l->multiply(s, KEYS, (matrix){q, w, 1}, kt, KEYS, all, d, padded(n), 0);
					l->multiply(t, KEYS, (matrix){dy, w, 1}, vt, KEYS, all, d, padded(n), 0);
					slopes(j, l, s, t, dy, b, g, from, rows, all, first, n, w);
					for (int64_t r = 0; r < rows; r++)
						add_row(to + (i + r) * by[2] + first * by[3], t + r * KEYS, n, by[3]);
				}
			}
}

// PART makes the function of one part of a job for one kind of processor. Parts are not inlined
// into one function: compilers take more than twice the time for one of twice the length.
#define PART(part, name, attribute) \
	attribute __attribute__((noinline)) static void part##_##name(const job *j, float *buffer, \
		int64_t i) { \
		part##_item(j, buffer, i, &level_##name); \
	}

// LEVEL makes the functions of one kind of processor.
#define LEVEL(name, attribute, tall, vector, at, lanes) \
	MULTIPLY(name, attribute, tall, vector, at, lanes) \
	attribute static void drops_##name(float *f, const gx_attention *p, int64_t b, int64_t g, \
		int64_t r, int64_t first) { \
		drops_of(f, p, b, g, r, first); \
	} \
	static const level level_##name = {multiply_##name, drops_##name, tall}; \
	PART(forward, name, attribute) \
	PART(grad, name, attribute) \
	PART(mask, name, attribute) \
	PART(thin, name, attribute) \
	PART(merge, name, attribute) \
	static const part_fn parts_##name[] = {[FORWARD] = forward_##name, [GRADS] = grad_##name, \
		[MASK] = mask_##name, [THIN] = thin_##name, [MERGE] = merge_##name};

typedef void (*part_fn)(const job *j, float *buffer, int64_t i);

LEVEL(plain, , 4, gx_v8, GX_AT8, GX_HALF)
#if defined(__x86_64__)
LEVEL(v3, __attribute__((target("arch=x86-64-v3"))), 4, gx_v8, GX_AT8, GX_HALF)
LEVEL(v4, __attribute__((target("arch=x86-64-v4"))), 8, gx_v16, GX_AT, GX_LANES)
#endif

// parts_here returns the functions for this processor.
static const part_fn *parts_here(void) {
#if defined(__x86_64__)
	if (gx_is_v4()) return parts_v4;
	if (gx_is_v3()) return parts_v3;
#endif
	return parts_plain;
}

static int64_t items_of(const job *j) {
	int64_t all = j->p->batch * j->p->groups;
	switch (j->part) {
	case FORWARD: return all * j->blocks;
	case MASK: return j->g->masks[0] * j->g->masks[1] * j->blocks;
	case THIN: return all * j->splits;
	}
	return all;
}

// An item of range is a thread; the threads take the items of the job one by one.
static void range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	part_fn part = parts_here()[j->part];
	int64_t n = items_of(j);
	for (int64_t t = begin; t < end; t++)
		for (int64_t i; (i = __atomic_fetch_add(j->taken, 1, __ATOMIC_RELAXED)) < n;)
			part(j, j->scratch + t * j->room, i);
}

// scratch_of is the number of floats of scratch memory that each thread has in a part of a job.
static int64_t scratch_of(const gx_attention *p, int grads) {
	if (thin(p) && !grads) return padded(p->size) * (THIN_ROWS + 1) + THIN_ROWS * KEYS;
	// Gradients of narrow queries are added up in floats
	int64_t sums = grads && p->narrow ? p->group * p->n * padded(p->size) : 0;
	return padded(p->size) * (4 * ROWS + 5 * KEYS) + 2 * ROWS * KEYS + 4 * ROWS + sums;
}

int64_t gx_attention_scratch(const gx_attention *p, int grads, int threads) {
	int64_t n = threads * scratch_of(p, grads);
	return thin(p) && !grads ? n + p->batch * p->groups * splits_of(p) * part_size(p) : n;
}

static void run(job *j, int part, int threads) {
	int64_t taken = 0;
	j->taken = &taken;
	j->part = part;
	j->room = scratch_of(j->p, j->g != 0);
	j->splits = splits_of(j->p);
	j->parts = j->scratch + threads * j->room;
	j->blocks = (j->p->group * j->p->n + ROWS - 1) / ROWS;
	if (part == MASK) j->blocks = (j->g->masks[2] + ROWS - 1) / ROWS;
	gx_parallel(threads, threads, 1, range, j);
}

void gx_attention_forward(void *y, float *lse, const void *q, const void *k, const void *v,
	const gx_attention *p, float *scratch, int threads) {
	job j = {.y = y, .lse = lse, .scratch = scratch, .q = q, .k = k, .v = v, .p = p};
	if (!thin(p)) {
		run(&j, FORWARD, threads);
		return;
	}
	run(&j, THIN, threads);
	run(&j, MERGE, threads);
}

void gx_attention_grad(const gx_attention_grads *g, const gx_attention *p, float *scratch,
	int threads) {
	job j = {.scratch = scratch, .p = p, .g = g};
	run(&j, GRADS, threads);
	if (g->dmask) run(&j, MASK, threads);
}
