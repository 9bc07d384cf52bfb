#include "bytelstm.h"

#include "recurrent.h"

#include "gx.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// LINE is the number of integers that a row of states is filled up to, with zeros.
enum { LINE = 16, TOGETHER = 4, GRAIN = 64 };

// own is the memory of a direction: sums of gates, states, and states as integers less their zero
// point, which have 16 bits.
typedef struct {
	float *gates, *h, *c;
	int16_t *q;
} own;

static int64_t pitch(const gx_bytelstm *l) { return (l->n + LINE - 1) / LINE * LINE; }

static int64_t own_bytes(const gx_bytelstm *l) {
	return gx_lines(6 * l->batch * l->n * (int64_t)sizeof(float)) +
		gx_lines(l->batch * pitch(l) * (int64_t)sizeof(int16_t));
}

int64_t gx_bytelstm_scratch(const gx_bytelstm *l) { return l->dirs * own_bytes(l); }

static own own_of(const gx_bytelstm *l, void *scratch, int64_t d) {
	int64_t size = l->batch * l->n;
	float *f = (float *)((char *)scratch + d * own_bytes(l));
	return (own){f, f + 4 * size, f + 5 * size,
		(int16_t *)((char *)f + gx_lines(6 * size * (int64_t)sizeof(float)))};
}

// round_states makes integers of the states of a direction and returns the number of one.
GX_CLONES static float round_states(const gx_bytelstm *l, const own *o) {
	int64_t size = l->batch * l->n, row = pitch(l);
	float low = 0.0f, high = 0.0f;
	for (int64_t i = 0; i < size; i++) {
		low = o->h[i] < low ? o->h[i] : low;
		high = o->h[i] > high ? o->h[i] : high;
	}
	float step = (high - low) / 255.0f;
	if (step == 0.0f) step = 1.0f;
	float zero = fminf(fmaxf(rintf(-low / step), 0.0f), 255.0f);
	for (int64_t b = 0; b < l->batch; b++) {
		const float *h = o->h + b * l->n;
		int16_t *q = o->q + b * row;
		GX_EACH(k, 0, l->n) {
			float v = rintf(h[k] / step) + zero;
			v = v < 0.0f ? 0.0f : v;
			q[k] = (int16_t)(int32_t)((v > 255.0f ? 255.0f : v) - zero);
		}
	}
	return step;
}

// product is the product of a step: for rows of weights, of all of the batch.
typedef struct {
	const gx_bytelstm *l;
	const int16_t *q;
	const int8_t *w;
	const float *scale, *x;
	float *gates, step;
} product;

static void store(const product *p, int64_t b, int64_t r, const int32_t *sums) {
	int64_t rows = 4 * p->l->n;
	const float *x = p->x + b * p->l->dirs * rows + r;
	for (int i = 0; i < TOGETHER; i++)
		p->gates[b * rows + r + i] = x[i] + (float)sums[i] * (p->step * p->scale[r + i]);
}

GX_CLONES static void multiply(const void *arg, int64_t begin, int64_t end) {
	const product *p = arg;
	int64_t n = p->l->n;
	for (int64_t r = begin; r < end; r += TOGETHER)
		for (int64_t b = 0; b < p->l->batch; b++) {
			const int16_t *q = p->q + b * pitch(p->l);
			int32_t sums[TOGETHER] = {0};
			for (int i = 0; i < TOGETHER; i++) {
				const int8_t *w = p->w + (r + i) * n;
				for (int64_t k = 0; k < n; k++) sums[i] += (int32_t)w[k] * q[k];
			}
			store(p, b, r, sums);
		}
}

#if defined(__x86_64__)
#define V3 __attribute__((target("arch=x86-64-v3")))

// multiply_pairs multiplies integers of 16 bits in pairs, which are added in 32.
V3 static void multiply_pairs(const void *arg, int64_t begin, int64_t end) {
	const product *p = arg;
	int64_t n = p->l->n, whole = n / LINE * LINE;
	for (int64_t r = begin; r < end; r += TOGETHER) {
		const int8_t *w = p->w + r * n;
		for (int64_t b = 0; b < p->l->batch; b++) {
			const int16_t *q = p->q + b * pitch(p->l);
			__m256i s[TOGETHER];
#pragma GCC unroll 4
			for (int i = 0; i < TOGETHER; i++) s[i] = _mm256_setzero_si256();
			for (int64_t k = 0; k < whole; k += LINE) {
				__m256i h = _mm256_loadu_si256((const __m256i *)(q + k));
#pragma GCC unroll 4
				for (int i = 0; i < TOGETHER; i++) {
					__m128i bytes = _mm_loadu_si128((const __m128i *)(w + i * n + k));
					s[i] = _mm256_add_epi32(s[i],
						_mm256_madd_epi16(h, _mm256_cvtepi8_epi16(bytes)));
				}
			}
			__m256i t = _mm256_hadd_epi32(_mm256_hadd_epi32(s[0], s[1]),
				_mm256_hadd_epi32(s[2], s[3]));
			int32_t sums[TOGETHER];
			_mm_storeu_si128((__m128i *)sums, _mm_add_epi32(_mm256_castsi256_si128(t),
				_mm256_extracti128_si256(t, 1)));
			for (int64_t k = whole; k < n; k++)
				for (int i = 0; i < TOGETHER; i++) sums[i] += (int32_t)w[i * n + k] * q[k];
			store(p, b, r, sums);
		}
	}
}

static gx_range_fn multiplier(void) {
	return gx_is_v3() ? multiply_pairs : multiply;
}
#else
static gx_range_fn multiplier(void) { return multiply; }
#endif

typedef struct {
	const gx_bytelstm *l;
	const gx_bytelstm_arrays *a;
	void *scratch;
	int threads; // of a product
} job;

// direction goes through the steps of one direction.
static void direction(const job *j, int64_t d) {
	const gx_bytelstm *l = j->l;
	const gx_bytelstm_arrays *a = j->a;
	int64_t n = l->n, rows = 4 * n, size = l->batch * n;
	own o = own_of(l, j->scratch, d);
	size_t bytes = (size_t)size * sizeof(float);
	memcpy(o.h, a->h0 + d * size, bytes);
	memcpy(o.c, a->c0 + d * size, bytes);
	gx_cells cells = {l->batch, n};
	for (int64_t i = 0; i < l->steps; i++) {
		int64_t t = d == 1 || l->back ? l->steps - 1 - i : i;
		product p = {.l = l, .q = o.q, .w = a->codes + d * rows * n, .scale = a->scale + d * rows,
			.x = a->x + (t * l->batch * l->dirs + d) * rows, .gates = o.gates};
		p.step = round_states(l, &o);
		gx_parallel(j->threads, rows, GRAIN, multiplier(), &p);
		gx_lstm(o.gates, o.c, o.h, o.c, &cells, 1);
		if (!a->y) continue;
		for (int64_t b = 0; b < l->batch; b++)
			memcpy(a->y + ((t * l->batch + b) * l->dirs + d) * n, o.h + b * n,
				(size_t)n * sizeof(float));
	}
	if (a->h) memcpy(a->h + d * size, o.h, bytes);
	if (a->c) memcpy(a->c + d * size, o.c, bytes);
}

static void directions(const void *arg, int64_t begin, int64_t end) {
	for (; begin < end; begin++) direction(arg, begin);
}

void gx_bytelstm_run(const gx_bytelstm *l, const gx_bytelstm_arrays *a, void *scratch,
	int threads) {
	int together = l->dirs > 1 && threads > 1; // a thread for each direction
	job j = {l, a, scratch, together ? 1 : threads};
	gx_parallel(together ? threads : 1, l->dirs, 1, directions, &j);
}
