#include "byteconv.h"

#include "byteplan.h"

#include "gx.h"

// Products and sums of epilogues are rounded one by one, as int8.h says.
#pragma GCC optimize("fp-contract=off")

#if defined(__x86_64__)
#include <immintrin.h>

#define V3 __attribute__((target("arch=x86-64-v3")))
#define INLINE static inline __attribute__((always_inline)) V3

// turn8 transposes eight vectors of eight numbers of 16 bits.
INLINE void turn8(__m128i *r) {
	__m128i t[8];
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
		t[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
	}
#pragma GCC unroll 2
	for (int i = 0; i < 8; i += 4) {
		r[i] = _mm_unpacklo_epi32(t[i], t[i + 2]), r[i + 1] = _mm_unpackhi_epi32(t[i], t[i + 2]);
		r[i + 2] = _mm_unpacklo_epi32(t[i + 1], t[i + 3]);
		r[i + 3] = _mm_unpackhi_epi32(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[2 * i] = _mm_unpacklo_epi64(r[i], r[i + 4]);
		t[2 * i + 1] = _mm_unpackhi_epi64(r[i], r[i + 4]);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) r[i] = t[i];
}

// turn8_words transposes eight vectors of eight words.
INLINE void turn8_words(__m256 *r) {
	__m256 t[8];
#pragma GCC unroll 4
	for (int i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
#pragma GCC unroll 2
	for (int i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
		t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++) r[i] = t[i];
}

#define NAME widen_u8
#define SIGNED 0
#include "bytewide.h"

#define NAME widen_s8
#define SIGNED 1
#include "bytewide.h"

#include "bytetile.h"

#include "byteend.h"

int gx_byteconv_takes(const gx_int8 *c) {
	return gx_is_v3() && (c->sum_type == GX_NONE || c->axes == 0 || c->sum_layout == c->y_layout);
}

int64_t gx_byteconv_packed(const gx_int8 *c) {
	gx_byteplan p = gx_byteplan_of(c);
	if (p.depthwise) return p.blocks * p.pairs * 2 * GX_BLOCK;
	return p.groups * gx_byteplan_weights(&p, p.per);
}

// offset_bytes and band_bytes are the parts of a thread's memory. Vectors read beyond the last
// number of wide data.
static int64_t offset_bytes(const gx_byteplan *p) {
	return gx_lines((p->depthwise ? 2 * p->pairs : p->runs) * (int64_t)sizeof(int64_t));
}

static int64_t band_bytes(const gx_byteplan *p) {
	int64_t pixels = p->kernel[0] * gx_byteplan_high(p, p->rows) * p->columns;
	return gx_lines(pixels * p->channels * (int64_t)sizeof(int16_t) + 64);
}

int64_t gx_byteconv_scratch(const gx_int8 *c, int threads) {
	gx_byteplan p = gx_byteplan_of(c);
	int64_t packed = c->packed ? 0 : gx_lines(gx_byteconv_packed(c));
	return packed + threads * (offset_bytes(&p) + band_bytes(&p));
}

typedef struct {
	const gx_byteplan *p;
	int8_t *packed;
	const int8_t *w;
} packing;

// weight returns element i of run r of the window of an output of w, zero behind the last one.
static int8_t weight(const gx_byteplan *p, const int8_t *w, int64_t r, int64_t i) {
	int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2], t = r, k = i;
	if (p->runs < taps) t = r * p->kernel[2] + i / p->each, k = i % p->each;
	int64_t run = p->runs < taps ? p->each * p->kernel[2] : p->each;
	return i < run ? w[k * taps + t] : 0;
}

// pack_apart packs sixteen channels of a depthwise layer, in the order in which vectors unpack.
static void pack_apart(const packing *j, int64_t block) {
	static const uint8_t order[GX_BLOCK] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
	const gx_byteplan *p = j->p;
	int64_t taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
	int8_t *d = j->packed + block * p->pairs * 2 * GX_BLOCK;
	for (int64_t k = 0; k < p->pairs; k++)
		for (int i = 0; i < GX_BLOCK; i++)
			for (int64_t h = 0; h < 2; h++) {
				int64_t channel = block * GX_BLOCK + order[i], t = 2 * k + h;
				*d++ = channel < p->per * p->groups && t < taps ? j->w[channel * taps + t] : 0;
			}
}

// block_at returns the group of a block and its first output there.
static int64_t block_at(const gx_byteplan *p, int64_t block, int64_t *first) {
	int64_t some = (p->per + GX_BLOCK - 1) / GX_BLOCK;
	*first = block % some * GX_BLOCK;
	return block / some;
}

static void pack(const void *arg, int64_t begin, int64_t end) {
	const packing *j = arg;
	const gx_byteplan *p = j->p;
	int64_t size = p->each * p->kernel[0] * p->kernel[1] * p->kernel[2];
	for (int64_t b = begin; b < end; b++) {
		if (p->depthwise) {
			pack_apart(j, b);
			continue;
		}
		int64_t first, g = block_at(p, b, &first), width = gx_min(GX_BLOCK, p->per - first);
		int8_t *d = j->packed + g * gx_byteplan_weights(p, p->per) +
			gx_byteplan_weights(p, first);
		const int8_t *w = j->w + (g * p->per + first) * size;
		for (int64_t r = 0; r < p->runs; r++)
			for (int64_t k = 0; k < p->pairs; k++)
				for (int64_t i = 0; i < (width + 7) / 8 * 8; i++)
					for (int64_t h = 0; h < 2; h++)
						*d++ = i < width ? weight(p, w + i * size, r, 2 * k + h) : 0;
	}
}

void gx_byteconv_pack(const gx_int8 *c, int8_t *packed, const int8_t *w, int threads) {
	gx_byteplan p = gx_byteplan_of(c);
	packing j = {&p, packed, w};
	gx_parallel(threads, p.blocks, 1, pack, &j);
}

typedef struct {
	const gx_byteplan *p;
	ending end;
	const uint8_t *x;
	const int8_t *w;
	char *scratch;
	int threads;
} job;

// band is a number of output rows of an image, and the wide data that they read.
typedef struct {
	int64_t image, depth, row, rows, high;
	int16_t *wide;
} band;

static band band_of(const gx_byteplan *p, int64_t i, int16_t *wide) {
	int64_t some = (p->out[1] + p->rows - 1) / p->rows;
	band b = {.image = i / p->bands, .wide = wide, .row = i % some * p->rows};
	b.depth = i % p->bands / some, b.rows = gx_min(p->rows, p->out[1] - b.row);
	b.high = gx_byteplan_high(p, b.rows);
	return b;
}

// widen makes the wide data of a band.
static void widen(const job *j, const band *b) {
	const gx_byteplan *p = j->p;
	int64_t ic = p->c->ic, plane = p->in[0] * p->in[1] * p->in[2], size = p->columns * p->channels;
	int64_t left = gx_min(p->columns, (p->pad[2] + p->skip[2] - 1) / p->skip[2]);
	int64_t first = left * p->skip[2] - p->pad[2]; // column of the data that comes first
	int64_t n = gx_min(p->columns - left, (p->in[2] - first + p->skip[2] - 1) / p->skip[2]);
	n = gx_max(n, 0);
	int16_t *d = b->wide;
	for (int64_t z = 0; z < p->kernel[0]; z++)
		for (int64_t h = 0; h < b->high; h++, d += size) {
			int64_t at = b->depth * p->step[0] * p->skip[0] + z * p->dilate[0] - p->pad[0];
			int64_t row = b->row * p->step[1] * p->skip[1] + h * p->skip[1] - p->pad[1];
			if (at < 0 || at >= p->in[0] || row < 0 || row >= p->in[1] || n == 0) {
				memset(d, 0, (size_t)size * sizeof *d);
				continue;
			}
			int64_t pixel = (at * p->in[1] + row) * p->in[2] + first, filled = left + n;
			const uint8_t *x = j->x + b->image * ic * plane + pixel * (p->x_last ? ic : 1);
			memset(d, 0, (size_t)(left * p->channels) * sizeof *d);
			(p->c->x_type == GX_INT8 ? widen_s8 : widen_u8)(d + left * p->channels, x, p, n,
				p->x_last ? 1 : plane);
			memset(d + filled * p->channels, 0,
				(size_t)((p->columns - filled) * p->channels) * sizeof *d);
		}
}

// find_offsets finds where the runs of a window begin in the wide data of a band, or the taps of a
// depthwise layer, whose last pair repeats a tap if their number is odd.
static void find_offsets(const gx_byteplan *p, const band *b, int64_t *d) {
	int64_t wide = p->runs < p->kernel[0] * p->kernel[1] * p->kernel[2] && !p->depthwise
		? 1 : p->kernel[2];
	int64_t last = 0;
	for (int64_t z = 0; z < p->kernel[0]; z++)
		for (int64_t h = 0; h < p->kernel[1]; h++)
			for (int64_t x = 0; x < wide; x++)
				*d++ = last = ((z * b->high + h * p->dilate[1]) * p->columns + x * p->dilate[2]) *
					p->channels;
	if (p->depthwise && p->kernel[0] * p->kernel[1] * p->kernel[2] % 2) *d = last;
}

// one_block computes a block of outputs of a band.
static void one_block(const job *j, const band *b, const int64_t *offsets, int64_t block) {
	const gx_byteplan *p = j->p;
	int64_t first, g = block_at(p, block, &first), width = gx_min(GX_BLOCK, p->per - first);
	part t = {p, offsets, j->w + g * gx_byteplan_weights(p, p->per) +
		gx_byteplan_weights(p, first)};
	const int16_t *x = b->wide + g * p->each;
	int64_t oc = g * p->per + first, line = p->columns * p->channels * p->step[1];
	if (p->depthwise) {
		t.w = j->w + block * p->pairs * 2 * GX_BLOCK, x = b->wide + block * GX_BLOCK;
		oc = block * GX_BLOCK, width = gx_min(GX_BLOCK, p->c->oc - oc);
	}
	int64_t plane = p->out[0] * p->out[1] * p->out[2], count = b->rows * p->out[2];
	int64_t at = (b->depth * p->out[1] + b->row) * p->out[2], row = 0, column = 0;
	int32_t sums[CHUNK * GX_BLOCK];
	for (int64_t from = 0; from < count; from += CHUNK) {
		int64_t n = gx_min(CHUNK, count - from);
		for (int64_t i = 0; i < n; i += ROWS) {
			const int16_t *pixels[ROWS];
			int64_t some = gx_min(ROWS, n - i);
			for (int64_t q = 0; q < some; q++) {
				pixels[q] = x + row * line + column * p->step[2] * p->channels;
				if (++column == p->out[2]) column = 0, row++;
			}
			one_tile(sums + i * GX_BLOCK, &t, pixels, some, (width + 7) / 8);
		}
		int64_t pixel = b->image * plane + at + from;
		if (p->y_last)
			end_last(&j->end, sums, n, oc, width, pixel * p->c->oc + oc);
		else
			end_plain(&j->end, sums, n, oc, width,
				(b->image * p->c->oc + oc) * plane + at + from, plane);
	}
}

// share computes the part of a thread: neighbouring blocks of bands.
static void share(const void *arg, int64_t thread, int64_t end) {
	const job *j = arg;
	const gx_byteplan *p = j->p;
	int64_t all = p->batch * p->bands * p->blocks;
	for (; thread < end; thread++) {
		char *own = j->scratch + thread * (offset_bytes(p) + band_bytes(p));
		int64_t last = all * (thread + 1) / j->threads, now = -1;
		band b = {0};
		for (int64_t i = all * thread / j->threads; i < last; i++) {
			if (i / p->blocks != now) {
				now = i / p->blocks, b = band_of(p, now, (int16_t *)(own + offset_bytes(p)));
				widen(j, &b);
				find_offsets(p, &b, (int64_t *)own);
			}
			one_block(j, &b, (int64_t *)own, i % p->blocks);
		}
	}
}

void gx_byteconv_run(const gx_int8 *c, void *y, const void *x, const int8_t *w, const float *scale,
	const float *offset, const void *sum, void *scratch, int threads) {
	gx_byteplan p = gx_byteplan_of(c);
	char *rest = scratch;
	if (!c->packed) {
		gx_byteconv_pack(c, (int8_t *)rest, w, threads);
		w = (int8_t *)rest, rest += gx_lines(gx_byteconv_packed(c));
	}
	job j = {&p, {c, y, sum, scale, offset}, x, w, rest, threads};
	gx_parallel(threads, threads, 1, share, &j);
}
#else
int gx_byteconv_takes(const gx_int8 *c) { return 0; }

int64_t gx_byteconv_packed(const gx_int8 *c) { return 0; }

void gx_byteconv_pack(const gx_int8 *c, int8_t *packed, const int8_t *w, int threads) {}

int64_t gx_byteconv_scratch(const gx_int8 *c, int threads) { return 0; }

void gx_byteconv_run(const gx_int8 *c, void *y, const void *x, const int8_t *w, const float *scale,
	const float *offset, const void *sum, void *scratch, int threads) {}
#endif
