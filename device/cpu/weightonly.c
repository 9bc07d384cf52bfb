#include "weightonly.h"

#include "gx.h"

// Sums have 16 lanes for columns, which are added in one order at the end: an output does not
// depend on the number of threads, nor on the rows beside it.

#define INLINE static inline __attribute__((always_inline))

enum { OUTPUTS = 4, ROWS = 2, PACK = 32, GRAIN = 16 };

typedef int8_t bytes __attribute__((vector_size(8), aligned(1), may_alias));
typedef uint8_t ubytes __attribute__((vector_size(8), aligned(1), may_alias));
typedef int32_t words __attribute__((vector_size(32)));

typedef struct {
	const gx_weightonly *w;
	float *y;
	const float *x, *scale, *bias;
	const uint8_t *codes;
	int64_t from; // first output of gx_weightonly_expand
} job;

INLINE int64_t stride(const gx_weightonly *w) { return w->columns * w->bits / 8; }

INLINE gx_v8 real(bytes b) {
	return __builtin_convertvector(__builtin_convertvector(b, words), gx_v8);
}

// part_of returns columns 8q to 8q+7 of PACK columns. Of 4 bits, a byte has columns k and k + 16.
INLINE gx_v8 part_of(const uint8_t *codes, int q, int bits) {
	if (bits == 8) return real(*(const bytes *)(codes + GX_HALF * q));
	ubytes b = *(const ubytes *)(codes + GX_HALF * (q % 2));
	return real((bytes)(((q < 2 ? b : b >> 4) & 15) ^ 8) - 8);
}

// code returns column k of a row of codes.
INLINE float code(const uint8_t *row, int64_t k, int bits) {
	if (bits == 8) return (float)(int8_t)row[k];
	int b = row[k / PACK * (PACK / 2) + k % (PACK / 2)];
	return (float)((((k % PACK < PACK / 2 ? b : b >> 4) & 15) ^ 8) - 8);
}

// tile computes outputs [o, o + outputs) of rows [r, r + rows). The numbers and bits are constants
// at every call.
INLINE void tile(const job *j, int64_t r, int64_t o, int rows, int outputs, int bits) {
	const gx_weightonly *w = j->w;
	int64_t k = w->columns, groups = k / w->group, pitch = stride(w);
	const float *x = j->x + r * k, *scale = j->scale + o * groups;
	const uint8_t *codes = j->codes + o * pitch;
	gx_v8 sum[OUTPUTS][ROWS][2] = {};
	float rest[OUTPUTS][ROWS] = {};
	for (int64_t g = 0; g < groups; g++) {
		int64_t at = g * w->group, end = at + w->group;
		gx_v8 part[OUTPUTS][ROWS][2] = {};
		for (; at + PACK <= end; at += PACK) {
#pragma GCC unroll 4
			for (int i = 0; i < outputs; i++)
#pragma GCC unroll 4
				for (int q = 0; q < 4; q++) {
					gx_v8 a = part_of(codes + i * pitch + at * bits / 8, q, bits);
#pragma GCC unroll 2
					for (int n = 0; n < rows; n++)
						part[i][n][q % 2] += a * GX_AT8(x + n * k + at + GX_HALF * q);
				}
		}
#pragma GCC unroll 4
		for (int i = 0; i < outputs; i++)
#pragma GCC unroll 2
			for (int n = 0; n < rows; n++) {
				float s = scale[i * groups + g], left = 0;
				sum[i][n][0] += part[i][n][0] * s;
				sum[i][n][1] += part[i][n][1] * s;
				for (int64_t c = at; c < end; c++)
					left += code(codes + i * pitch, c, bits) * x[n * k + c];
				rest[i][n] += left * s;
			}
	}
	for (int i = 0; i < outputs; i++)
		for (int n = 0; n < rows; n++) {
			float v = gx_total(sum[i][n]) + rest[i][n];
			j->y[(r + n) * w->outputs + o + i] = j->bias ? v + j->bias[o + i] : v;
		}
}

// outputs_of computes outputs [begin, end) of all rows.
INLINE void outputs_of(const job *j, int64_t begin, int64_t end, int bits) {
	int64_t rows = j->w->rows;
	for (int64_t o = begin; o < end;) {
		int four = end - o >= OUTPUTS;
		int64_t r = 0;
		for (; r + ROWS <= rows; r += ROWS)
			if (four) tile(j, r, o, ROWS, OUTPUTS, bits);
			else tile(j, r, o, ROWS, 1, bits);
		if (r < rows) {
			if (four) tile(j, r, o, 1, OUTPUTS, bits);
			else tile(j, r, o, 1, 1, bits);
		}
		o += four ? OUTPUTS : 1;
	}
}

GX_CLONES static void outputs8(const void *arg, int64_t begin, int64_t end) {
	outputs_of(arg, begin, end, 8);
}

GX_CLONES static void outputs4(const void *arg, int64_t begin, int64_t end) {
	outputs_of(arg, begin, end, 4);
}

void gx_weightonly_run(const gx_weightonly *w, float *y, const float *x, const void *codes,
	const float *scale, const float *bias, int threads) {
	job j = {.w = w, .y = y, .x = x, .scale = scale, .bias = bias, .codes = codes};
	gx_parallel(threads, w->outputs, GRAIN, w->bits == 8 ? outputs8 : outputs4, &j);
}

GX_CLONES static void expand(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	const gx_weightonly *w = j->w;
	int64_t k = w->columns, groups = k / w->group, pitch = stride(w);
	for (int64_t i = begin; i < end; i++) {
		const uint8_t *row = j->codes + (j->from + i) * pitch;
		float *d = j->y + i * k;
		for (int64_t g = 0; g < groups; g++) {
			float s = j->scale[(j->from + i) * groups + g];
			int64_t at = g * w->group, stop = at + w->group;
			for (; at + PACK <= stop; at += PACK)
				for (int q = 0; q < 4; q++)
					GX_AT8(d + at + GX_HALF * q) = part_of(row + at * w->bits / 8, q, w->bits) * s;
			for (; at < stop; at++) d[at] = code(row, at, w->bits) * s;
		}
	}
}

void gx_weightonly_expand(const gx_weightonly *w, float *d, const void *codes, const float *scale,
	int64_t from, int64_t to, int threads) {
	job j = {.w = w, .y = d, .scale = scale, .codes = codes, .from = from};
	gx_parallel(threads, to - from, 1, expand, &j);
}

static void add_bias(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	int64_t n = j->w->outputs;
	for (int64_t r = begin; r < end; r++)
		GX_EACH(i, 0, n) j->y[r * n + i] += j->bias[i];
}

void gx_weightonly_bias(const gx_weightonly *w, float *y, const float *bias, int threads) {
	job j = {.w = w, .y = y, .bias = bias};
	gx_parallel(threads, w->rows, 1, add_bias, &j);
}
