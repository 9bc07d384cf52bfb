#include "gemm.h"

#include "gx.h"

// For processors with vectors of sixteen floats. The sums of a tile of ROWS x COLS results stay in
// registers. The second operand is packed, so that a tile reads it in order, COLS numbers for each
// term of the sums; a block of it lies in the second cache while all rows pass by. The first
// operand is read where it is, or packed tile by tile when its rows are columns. A result is a sum
// in the order of its terms for any number of threads.

#if defined(__x86_64__)
#include "turn.h"

enum { ROWS = 12, COLS = 32, LANES = 16, AHEAD = 64 };

// A block has ROOM numbers. Few rows take long panels, so that the second operand is read once and
// in order; many take short ones, so that a tile's first operand stays in the first cache.
enum { ROOM = 96 << 10, FEW = 96, LONG = ROOM / COLS, SHORT = 384 };

// Blocks are handed out where every thread finds FEWEST. Of a product that a team shares, KEPT
// percent of the columns have their threads from the start.
enum { FEWEST = 4, KEPT = 80 };

#define WIDE GX_WIDE
#define INLINE static inline __attribute__((always_inline)) WIDE

typedef struct {
	float *c;
	const float *a, *b, *bias;
	const gx_gemm *g;
	int packed;           // b is
	int64_t down, across; // parts into which rows and columns are split
} job;

// turn writes to d, in rows of COLS, the transpose of 16 rows of s that are step apart. Only the
// first rows and terms are there; the rest of the rows is zero, the rest of the terms is not
// written.
INLINE void turn(float *d, const float *s, int64_t step, int64_t rows, int64_t terms) {
	__mmask16 some = (__mmask16)((1u << terms) - 1);
	__m512 r[16];
	for (int i = 0; i < 16; i++)
		r[i] = i < rows ? _mm512_maskz_loadu_ps(some, s + i * step) : _mm512_setzero_ps();
	gx_turn(r);
	for (int i = 0; i < 16; i++)
		if (i < terms) _mm512_storeu_ps(d + i * COLS, r[i]);
}

// pack_turned packs n <= COLS rows of s as columns of k terms.
WIDE static void pack_turned(float *d, const float *s, int64_t step, int64_t n, int64_t k) {
	for (int64_t i = 0; i < k; i += LANES)
		for (int64_t h = 0; h < COLS; h += LANES) {
			const float *from = s + h * step + i;
			if (n >= h + LANES && i + LANES <= k)
				turn(d + i * COLS + h, from, step, LANES, LANES);
			else
				turn(d + i * COLS + h, from, step, n - h, gx_min(LANES, k - i));
		}
}

// first is the mask of the first n lanes of the vector that begins at lane from.
INLINE __mmask16 first(int64_t n, int64_t from) { return (__mmask16)((1u << gx_max(0,
	gx_min(n - from, LANES))) - 1); }

// pack_rows packs n <= COLS columns of k rows.
WIDE static void pack_rows(float *d, const float *s, int64_t step, int64_t n, int64_t k) {
	__mmask16 low = first(n, 0), high = first(n, LANES);
	for (int64_t i = 0; i < k; i++, d += COLS, s += step) {
		_mm512_storeu_ps(d, _mm512_maskz_loadu_ps(low, s));
		_mm512_storeu_ps(d + LANES, _mm512_maskz_loadu_ps(high, s + LANES));
	}
}

// pack_panel packs terms from to from + k of the columns from left, at most COLS.
static void pack_panel(float *d, const job *j, int64_t left, int64_t from, int64_t k) {
	const gx_gemm *g = j->g;
	int64_t n = gx_min(COLS, g->n - left);
	if (g->tb)
		pack_turned(d, j->b + left * g->ldb + from, g->ldb, n, k);
	else
		pack_rows(d, j->b + from * g->ldb + left, g->ldb, n, k);
}

// factor says where the rows of the first operand are: element (row, term) is at a[row * down +
// term * along].
typedef struct {
	const float *a;
	int64_t down, along;
} factor;

// pack_column packs the rows of a tile that are columns of a.
WIDE static factor pack_column(float *d, const float *a, int64_t step, int64_t rows, int64_t k) {
	__mmask16 some = first(rows, 0);
	for (int64_t i = 0; i < k; i++)
		_mm512_storeu_ps(d + i * LANES, _mm512_maskz_loadu_ps(some, a + i * step));
	return (factor){d, 1, LANES};
}

// place is the destination of a tile, with the bias and the factors of its results.
typedef struct {
	float *c;
	const float *bias; // null for none
	int64_t ldc, cols;
	float alpha, beta;
} place;

INLINE void store(const place *p, float *c, gx_v16 sum, int64_t lane) {
	__mmask16 some = first(p->cols, lane);
	__m512 x = (__m512)sum * p->alpha;
	if (p->bias) x += _mm512_maskz_loadu_ps(some, p->bias + lane);
	if (p->beta != 0.0f) x += p->beta * _mm512_maskz_loadu_ps(some, c + lane);
	_mm512_mask_storeu_ps(c + lane, some, x);
}

// tile computes rows x COLS sums of k terms, or half as many columns; rows and half are constants
// at every call.
INLINE void tile(const place *p, factor f, const float *b, int64_t k, int rows, int half) {
	gx_v16 lo[ROWS], hi[ROWS];
#pragma GCC unroll 12
	for (int r = 0; r < rows; r++) {
		lo[r] = hi[r] = (gx_v16){};
		__builtin_prefetch(p->c + r * p->ldc, 1);
		__builtin_prefetch(p->c + r * p->ldc + p->cols - 1, 1);
	}
	const float *a = f.a;
	for (int64_t i = 0; i < k; i++, b += COLS, a += f.along) {
		gx_v16 x = GX_AT(b), y = half ? x : GX_AT(b + LANES);
		__builtin_prefetch(b + AHEAD * COLS);
		if (!half) __builtin_prefetch(b + AHEAD * COLS + LANES);
#pragma GCC unroll 12
		for (int r = 0; r < rows; r++) {
			gx_v16 v = a[r * f.down] - (gx_v16){};
			lo[r] += v * x;
			if (!half) hi[r] += v * y;
		}
	}
#pragma GCC unroll 12
	for (int r = 0; r < rows; r++) {
		store(p, p->c + r * p->ldc, lo[r], 0);
		if (!half) store(p, p->c + r * p->ldc, hi[r], LANES);
	}
}

#define CASE(r) \
	case r: \
		if (p->cols <= LANES) \
			tile(p, f, b, k, r, 1); \
		else \
			tile(p, f, b, k, r, 0); \
		return

// any_tile computes a tile of any number of rows and as many columns as its place has.
WIDE static void any_tile(const place *p, factor f, const float *b, int64_t k, int64_t rows) {
	switch (rows) {
		CASE(1);
		CASE(2);
		CASE(3);
		CASE(4);
		CASE(5);
		CASE(6);
		CASE(7);
		CASE(8);
		CASE(9);
		CASE(10);
		CASE(11);
		CASE(12);
	}
}

// area is a range of results, part a range of terms.
typedef struct {
	int64_t top, bottom, left, right;
} area;

typedef struct {
	int64_t from, count;
} part;

// rows adds a part of the terms to an area. Panels of b are step floats apart.
static void rows(const job *j, area r, part t, const float *b, int64_t step) {
	const gx_gemm *g = j->g;
	float column[LONG * LANES] __attribute__((aligned(64)));
	int64_t tiles = (r.bottom - r.top + ROWS - 1) / ROWS;
	for (int64_t i = 0; i < tiles; i++) {
		int64_t top = r.top + (r.bottom - r.top) * i / tiles,
			count = r.top + (r.bottom - r.top) * (i + 1) / tiles - top;
		factor f = {j->a + top * g->lda + t.from, g->lda, 1};
		if (g->ta) f = pack_column(column, j->a + t.from * g->lda + top, g->lda, count, t.count);
		const float *panel = b;
		for (int64_t left = r.left; left < r.right; left += COLS, panel += step) {
			const float *bias = t.from == 0 && j->bias ? j->bias + left : 0;
			place p = {j->c + top * g->ldc + left, bias, g->ldc, gx_min(COLS, r.right - left),
				g->alpha, t.from == 0 ? g->beta : 1.0f};
			any_tile(&p, f, panel, t.count, count);
		}
	}
}

// parts_of is the number of parts into which the terms of sums are cut.
static int64_t parts_of(const gx_gemm *g) {
	int64_t most = g->m <= FEW ? LONG : SHORT;
	return gx_max(1, (g->k + most - 1) / most);
}

// width_of is the number of columns of a block.
static int64_t width_of(const gx_gemm *g) {
	int64_t parts = parts_of(g);
	return ROOM / COLS / gx_max(1, (g->k + parts - 1) / parts) * COLS;
}

// multiply computes an area.
static void multiply(const job *j, area r) {
	int64_t k = j->g->k, parts = parts_of(j->g), width = width_of(j->g);
	float packed[ROOM] __attribute__((aligned(64)));
	for (int64_t left = r.left; left < r.right; left += width) {
		area s = {r.top, r.bottom, left, gx_min(left + width, r.right)};
		for (int64_t i = 0; i < parts; i++) {
			part t = {k * i / parts, k * (i + 1) / parts - k * i / parts};
			if (j->packed) {
				rows(j, s, t, j->b + left * k + t.from * COLS, k * COLS);
				continue;
			}
			for (int64_t c = left; c < s.right; c += COLS)
				pack_panel(packed + (c - left) * t.count, j, c, t.from, t.count);
			rows(j, s, t, packed, t.count * COLS);
		}
	}
}

// bound returns the bound of part i of n things in whole units.
static int64_t bound(int64_t n, int64_t unit, int64_t i, int64_t parts) {
	int64_t units = (n + unit - 1) / unit;
	return gx_min(n, units * i / parts * unit);
}

static void areas(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) {
		int64_t x = i % j->across, y = i / j->across;
		area r = {bound(j->g->m, ROWS, y, j->down), bound(j->g->m, ROWS, y + 1, j->down),
			bound(j->g->n, COLS, x, j->across),
				  bound(j->g->n, COLS, x + 1, j->across)};
		multiply(j, r);
	}
}

// split divides the work among threads: by columns, whose operand need not be packed twice then,
// unless they are so few that some thread would wait long.
static void split(job *j, int threads) {
	int64_t panels = (j->g->n + COLS - 1) / COLS, tiles = (j->g->m + ROWS - 1) / ROWS;
	j->across = gx_min(threads, panels);
	if (panels % threads != 0 && panels < 8 * threads && tiles >= 8 * threads) j->across = 1;
	j->down = gx_max(1, gx_min(threads / j->across, tiles));
}

// run computes the product. Many blocks are handed out one by one, which makes up for threads that
// are held up.
static void run(job *j, int threads) {
	if (j->g->m == 0 || j->g->n == 0) return;
	int64_t width = width_of(j->g), blocks = (j->g->n + width - 1) / width;
	if (threads == 1 || blocks < FEWEST * threads || j->g->m <= FEW) {
		split(j, threads);
		gx_parallel(threads, j->down * j->across, 1, areas, j);
		return;
	}
	j->down = 1;
	j->across = blocks;
	gx_hand_out(threads, blocks, areas, j);
}

void gx_gemm_run(float *c, const float *a, const float *b, const float *bias, const gx_gemm *g,
	int threads) {
	job j = {c, a, b, bias, g};
	run(&j, threads);
}

void gx_packed_gemm(float *c, const float *a, const float *packed, const float *bias,
	const gx_gemm *g, int threads) {
	job j = {c, a, packed, bias, g, 1};
	run(&j, threads);
}

void gx_packed_gemm_part(float *c, const float *a, const float *packed, const gx_gemm *g, int part,
	int parts, int64_t *taken) {
	job j = {c, a, packed, 0, g, 1};
	int64_t m = g->m, panels = (g->n + COLS - 1) / COLS, tiles = (m + ROWS - 1) / ROWS,
		own = panels * KEPT / 100 / parts;
	if (own > 0) multiply(&j, (area){0, m, part * own * COLS, (part + 1) * own * COLS});
	for (int64_t all = (panels - parts * own) * tiles, i;
		(i = __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED)) < all;) {
		int64_t left = (parts * own + i / tiles) * COLS, row = i % tiles;
		multiply(&j, (area){m * row / tiles, m * (row + 1) / tiles, left,
			gx_min(g->n, left + COLS)});
	}
}

void gx_packed_gemm_alone(float *c, const float *a, const float *packed, const gx_gemm *g) {
	job j = {c, a, packed, 0, g, 1};
	multiply(&j, (area){0, g->m, 0, g->n});
}

int64_t gx_packed_size(const gx_gemm *g) { return (g->n + COLS - 1) / COLS * COLS * g->k; }

typedef struct {
	job j;
	float *d;
} packing;

static void pack_range(const void *arg, int64_t begin, int64_t end) {
	const packing *p = arg;
	for (int64_t i = begin; i < end; i++)
		pack_panel(p->d + i * COLS * p->j.g->k, &p->j, i * COLS, 0, p->j.g->k);
}

void gx_pack(float *d, const float *b, const gx_gemm *g, int threads) {
	packing p = {{0, 0, b, 0, g}, d};
	gx_parallel(threads, (g->n + COLS - 1) / COLS, 1, pack_range, &p);
}

#else
void gx_gemm_run(float *c, const float *a, const float *b, const float *bias, const gx_gemm *g,
	int threads) {}
void gx_packed_gemm(float *c, const float *a, const float *packed, const float *bias,
	const gx_gemm *g, int threads) {}
void gx_packed_gemm_part(float *c, const float *a, const float *packed, const gx_gemm *g, int part,
	int parts, int64_t *taken) {}
void gx_packed_gemm_alone(float *c, const float *a, const float *packed, const gx_gemm *g) {}
int64_t gx_packed_size(const gx_gemm *g) { return 0; }
void gx_pack(float *d, const float *b, const gx_gemm *g, int threads) {}
#endif

int gx_gemm_can(void) { return gx_is_v4(); }

// oneDNN 2.6 is better wherever the second operand is not transposed, at few rows, and at short
// sums; at many rows, unless a bias would have to be written before.
int gx_gemm_fits(const gx_gemm *g, int bias) {
	int64_t least = g->ta ? 2 : 13;
	return g->tb && g->m >= least && (g->m < 128 || (bias && g->k >= 128)) && gx_gemm_can();
}
