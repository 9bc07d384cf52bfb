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

GX_CLONES int gx_read_rows(int64_t *d, const float *index, int64_t n, int64_t rows) {
	const int64_t last = rows - 1;
	for (int64_t i = 0; i < n; i++) {
		const float f = index[i] > 0.0f ? index[i] : 0.0f; // not a number: row 0
		const int64_t k = f < 9e18f ? (int64_t)f : last;
		d[i] = gx_min(k, last);
	}
	int64_t falls = 0, repeats = 0;
	for (int64_t i = 1; i < n; i++) {
		falls |= d[i] < d[i - 1];
		repeats |= d[i] == d[i - 1];
	}
	return falls ? GX_MIXED : repeats ? GX_SORTED : GX_RISING;
}

static void count_range(const void *arg, int64_t begin, int64_t end) {
	const sums *j = arg;
	for (int64_t g = begin; g < end; g++) {
		const float count = (float)(j->starts[g + 1] - j->starts[g]);
		float *d = j->d + g * j->n;
		for (int64_t k = 0; k < j->n; k++) d[k] = count;
	}
}

void gx_count_rows(float *d, const int64_t *starts, int64_t groups, int64_t n, int threads) {
	sums j = {.d = d, .starts = starts, .n = n};
	gx_parallel(threads, groups, 8, count_range, &j);
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

// An element of a block, without its column.
typedef struct {
	int32_t row;
	float x;
} item;

// The columns of a matrix are cut into blocks of width, a multiple of 64, whose elements fit into a
// cache; a part has several of them.
typedef struct {
	gx_columns c;
	int64_t words, blocks, width;
	uint64_t *bits;  // of the columns with an element
	int32_t *rank;   // number of such columns before each word of bits, and behind the last
	int64_t *cursor; // next element of each row, for each part
	int64_t *most;   // number of elements of the fullest block, for each part
} columns;

// memory_of lays memory out and returns its size.
static int64_t memory_of(columns *j, char *memory) {
	const int64_t parts = j->c.parts, words = (j->c.columns + 63) / 64;
	char *at = memory;
	j->words = words;
	j->bits = (uint64_t *)at, at += words * (int64_t)sizeof(uint64_t);
	j->cursor = (int64_t *)at, at += parts * j->c.rows * (int64_t)sizeof(int64_t);
	j->most = (int64_t *)at, at += parts * (int64_t)sizeof(int64_t);
	j->rank = (int32_t *)at, at += (words + 1) * (int64_t)sizeof(int32_t);
	return at - memory;
}

int64_t gx_columns_memory(int64_t rows, int64_t columns_, int parts) {
	columns j = {.c = {.rows = rows, .columns = columns_, .parts = parts}};
	return memory_of(&j, 0);
}

// blocks chooses blocks of about BLOCK elements. A row has several elements in a block, since each
// block visits all rows.
static columns blocks(gx_columns c, void *memory) {
	enum { BLOCK = 16384, SOME = 8 };
	columns j = {.c = c};
	memory_of(&j, memory);
	const int64_t items = c.rows ? c.starts[c.rows] : 0,
		count = gx_max(gx_min(items / BLOCK, items / (SOME * c.rows + 1)), c.parts);
	j.width = gx_max((j.words + count - 1) / count, 1) * 64;
	j.blocks = (c.columns + j.width - 1) / j.width;
	return j;
}

// end_of returns the end of block b, in columns.
static inline int64_t end_of(const columns *j, int64_t b) {
	return gx_min((b + 1) * j->width, j->c.columns);
}

// first_elements finds the first element of each row in block b.
static void first_elements(const columns *j, int64_t *cursor, int64_t b) {
	const gx_columns *c = &j->c;
	for (int64_t r = 0; r < c->rows; r++) {
		int64_t lo = c->starts[r], hi = b ? c->starts[r + 1] : lo;
		while (lo < hi) {
			const int64_t mid = (lo + hi) / 2;
			if (c->at[mid] < b * j->width)
				lo = mid + 1;
			else
				hi = mid;
		}
		cursor[r] = lo;
	}
}

// later starts to load the elements of a row from i on, for the next block.
static inline void later(const gx_columns *c, int64_t i) {
	for (int64_t k = 0; k < 32; k += 8) __builtin_prefetch(c->at + i + k);
}

static void find_parts(const void *arg, int64_t begin, int64_t end) {
	const columns *j = arg;
	const gx_columns *c = &j->c;
	for (int64_t p = begin; p < end; p++) {
		int64_t *cursor = j->cursor + p * c->rows, most = 0;
		const int64_t from = j->blocks * p / c->parts, to = j->blocks * (p + 1) / c->parts;
		first_elements(j, cursor, from);
		for (int64_t b = from; b < to; b++) {
			const int64_t limit = end_of(j, b), word = b * j->width / 64;
			memset(j->bits + word, 0, (size_t)((limit + 63) / 64 - word) * sizeof(uint64_t));
			int64_t size = 0;
			for (int64_t r = 0; r < c->rows; r++) {
				const int64_t first = cursor[r], stop = c->starts[r + 1];
				int64_t i = first;
				for (; i < stop && c->at[i] < limit; i++)
					j->bits[c->at[i] >> 6] |= (uint64_t)1 << (c->at[i] & 63);
				later(c, i);
				cursor[r] = i;
				size += i - first;
			}
			most = gx_max(most, size);
		}
		j->most[p] = most;
	}
}

GX_CLONES static int64_t count_bits(const uint64_t *bits, int32_t *rank, int64_t words) {
	int32_t n = 0;
	for (int64_t w = 0; w < words; w++) {
		rank[w] = n;
		n += __builtin_popcountll(bits[w]);
	}
	rank[words] = n;
	return n;
}

int64_t gx_find_columns(gx_columns c, void *memory) {
	columns j = blocks(c, memory);
	gx_parallel(c.parts, c.parts, 1, find_parts, &j);
	return count_bits(j.bits, j.rank, j.words);
}

typedef struct {
	columns j;
	int64_t *keys;
	float *d;
	int placed, past, far; // past the caches; rows of s do not stay in the caches
	const float *s;
	int64_t n;
	char *room;
	int64_t size, most; // bytes of a part's room; elements that it has room for
} summing;

// most_of returns the number of elements of the fullest block.
static int64_t most_of(const columns *j) {
	int64_t most = 0;
	for (int p = 0; p < j->c.parts; p++) most = gx_max(most, j->most[p]);
	return most;
}

// size_of returns the bytes of a part's room: items, and counts of their columns.
static int64_t size_of(int64_t most) {
	return most * (int64_t)(sizeof(item) + sizeof(int32_t)) + 128;
}

int64_t gx_columns_room(gx_columns c, const void *memory) {
	const columns j = blocks(c, (void *)memory);
	return c.parts * size_of(most_of(&j));
}

// key_of returns the number of columns with an element before a column.
static inline int32_t key_of(const columns *j, int64_t column) {
	const uint64_t below = ((uint64_t)1 << (column & 63)) - 1;
	return j->rank[column >> 6] + __builtin_popcountll(j->bits[column >> 6] & below);
}

// group sorts the elements of block b by columns and returns the number of these: the items of
// column k end before count[k].
static inline __attribute__((always_inline)) int64_t group(const columns *j, int64_t b,
	int64_t *cursor, item *items, int32_t *count) {
	const gx_columns *c = &j->c;
	const int64_t limit = end_of(j, b);
	const int32_t base = j->rank[b * j->width / 64], keys = j->rank[(limit + 63) / 64] - base;
	memset(count, 0, (size_t)keys * sizeof(int32_t));
	for (int64_t r = 0; r < c->rows; r++)
		for (int64_t i = cursor[r]; i < c->starts[r + 1] && c->at[i] < limit; i++)
			count[key_of(j, c->at[i]) - base]++;
	int32_t before = 0;
	for (int32_t k = 0; k < keys; k++) {
		const int32_t here = count[k];
		count[k] = before;
		before += here;
	}
	for (int64_t r = 0; r < c->rows; r++) {
		int64_t i = cursor[r];
		for (; i < c->starts[r + 1] && c->at[i] < limit; i++)
			items[count[key_of(j, c->at[i]) - base]++] = (item){(int32_t)r, c->x[i]};
		later(c, i);
		__builtin_prefetch(c->x + i);
		__builtin_prefetch(c->x + i + 16);
		cursor[r] = i;
	}
	return keys;
}

// list_keys writes the columns of block b.
static void list_keys(const columns *j, int64_t b, int64_t *keys) {
	const int64_t end = (end_of(j, b) + 63) / 64;
	for (int64_t w = b * j->width / 64; w < end; w++) {
		int64_t *to = keys + j->rank[w];
		for (uint64_t bits = j->bits[w]; bits; bits &= bits - 1)
			*to++ = w * 64 + __builtin_ctzll(bits);
	}
}

// sum_items sums width elements, from element e of each row on, of the rows of items.
static inline __attribute__((always_inline)) void sum_items(const summing *a, float *d, int64_t e,
	int64_t width, const item *items, int64_t count) {
	float sum[16];
	for (int64_t k = 0; k < width; k++) sum[k] = 0.0f;
	for (int64_t i = 0; i < count; i++) {
		const float *s = a->s + items[i].row * a->n + e, x = items[i].x;
		for (int64_t k = 0; k < width; k++) sum[k] += x * s[k];
	}
	for (int64_t k = 0; k < width; k++) d[e + k] = sum[k];
}

// sum_vectors is sum_items for PART elements, which stay in registers.
static inline __attribute__((always_inline)) void sum_vectors(const summing *a, float *d, int64_t e,
	const item *items, int64_t count) {
	enum { VECTORS = PART / GX_HALF };
	gx_v8 sum[VECTORS] = {0};
	for (int64_t i = 0; i < count; i++) {
		const float *s = a->s + items[i].row * a->n + e, x = items[i].x;
		for (int k = 0; k < VECTORS; k++) sum[k] += x * GX_AT8(s + k * GX_HALF);
	}
	float past[PART];
	float *to = a->past ? past : d + e;
	for (int k = 0; k < VECTORS; k++) GX_AT8(to + k * GX_HALF) = sum[k];
	if (a->past) gx_stream(d + e, past, PART);
}

// sum_block computes the sums of the columns of block b, whose items group has sorted.
static inline __attribute__((always_inline)) void sum_block(const summing *a, int64_t b,
	int64_t keys, const item *items, const int32_t *count) {
	const int64_t base = a->j.rank[b * a->j.width / 64], n = a->n;
	int64_t at = 0;
	for (int64_t k = 0; k < keys; k++) {
		const item *list = items + at;
		const int64_t m = count[k] - at;
		float *d = a->d + (a->placed ? a->keys[base + k] : base + k) * n;
		at = count[k];
		if (a->far && k + 1 < keys)
			for (int64_t i = at; i < count[k + 1]; i++) ahead(a->s + items[i].row * n, n * 4);
		int64_t e = 0;
		for (; e + PART <= n; e += PART) sum_vectors(a, d, e, list, m);
		for (; e + 16 <= n; e += 16) sum_items(a, d, e, 16, list, m);
		for (; e + 4 <= n; e += 4) sum_items(a, d, e, 4, list, m);
		for (; e < n; e++) sum_items(a, d, e, 1, list, m);
	}
}

GX_CLONES static void sum_parts(const void *arg, int64_t begin, int64_t end) {
	const summing *a = arg;
	const columns *j = &a->j;
	for (int64_t p = begin; p < end; p++) {
		int64_t *cursor = j->cursor + p * j->c.rows;
		item *items = (item *)(a->room + p * a->size);
		int32_t *count = (int32_t *)(items + a->most);
		const int64_t from = j->blocks * p / j->c.parts, to = j->blocks * (p + 1) / j->c.parts;
		first_elements(j, cursor, from);
		for (int64_t b = from; b < to; b++) {
			const int64_t keys = group(j, b, cursor, items, count);
			list_keys(j, b, a->keys);
			sum_block(a, b, keys, items, count);
		}
	}
	gx_streamed();
}

void gx_sum_columns(gx_columns c, void *memory, void *room, int64_t *keys, float *d, int placed,
	const float *s, int64_t n) {
	const columns j = blocks(c, memory);
	const int64_t most = most_of(&j);
	const summing a = {j, keys, d, placed, n % GX_LANES == 0 && j.rank[j.words] * n >= GX_LARGE,
		c.rows * n >= GX_LARGE / 16, s, n, room, size_of(most), most};
	gx_parallel(c.parts, c.parts, 1, sum_parts, &a);
}
