#include "gxmath.h"
#include "move.h"

enum { GRAIN = 1024 };

typedef struct {
	void *d;
	const void *s;
} job;

// streamed converts blocks of a large output in the cache and copies them past it.
typedef struct {
	job j;
	gx_range_fn fn;
	int64_t dsize, ssize;
} streamed;

static void stream_range(const void *arg, int64_t begin, int64_t end) {
	enum { PIECE = 256 };
	const streamed *s = arg;
	char block[PIECE * 8] __attribute__((aligned(64)));
	for (int64_t b = begin; b < end; b += PIECE) {
		int64_t n = gx_min(PIECE, end - b);
		job j = {block, (const char *)s->j.s + b * s->ssize};
		s->fn(&j, 0, n);
		gx_copy_past((char *)s->j.d + b * s->dsize, block, (size_t)(n * s->dsize));
	}
	gx_streamed();
}

// run converts n elements; an output in the place of its input is in the cache when it is written.
static void run(streamed s, int64_t n, int threads) {
	if (n * s.dsize < GX_LARGE * 4 || s.j.d == s.j.s)
		gx_parallel(threads, n, GRAIN, s.fn, &s.j);
	else
		gx_parallel(threads, n, GRAIN, stream_range, &s);
}

typedef _Bool truth;

#define TYPES(X, A) \
	X(A, float, float, GX_F32) X(A, double, double, GX_F64) X(A, uint8_t, int32_t, GX_U8) X(A, int8_t, int32_t, GX_I8) \
	X(A, int32_t, int32_t, GX_I32) X(A, int64_t, int64_t, GX_I64) X(A, truth, truth, GX_BOOL)

// CUT cuts off the fraction of a floating-point number. A number that the integer type cannot hold
// becomes its smallest one, as x86 processors have it.
#define CUT(S, VIA, above, below, smallest) \
	static inline VIA VIA##_of_##S(S x) { return above && x < below ? (VIA)x : smallest; }
CUT(float, int32_t, x >= -0x1p31f, 0x1p31f, INT32_MIN)
CUT(double, int32_t, x > -0x1p31 - 1, 0x1p31, INT32_MIN)
CUT(float, int64_t, x >= -0x1p63f, 0x1p63f, INT64_MIN)
CUT(double, int64_t, x >= -0x1p63, 0x1p63, INT64_MIN)

#define SIMPLE(S, VIA) \
	static inline VIA VIA##_of_##S(S x) { return (VIA)x; }
SIMPLE(float, float)
SIMPLE(float, double)
SIMPLE(float, truth)
SIMPLE(double, float)
SIMPLE(double, double)
SIMPLE(double, truth)
#define WHOLE(S) \
	SIMPLE(S, float) SIMPLE(S, double) SIMPLE(S, truth) \
	SIMPLE(S, int32_t) SIMPLE(S, int64_t)
WHOLE(uint8_t)
WHOLE(int8_t)
WHOLE(int32_t)
WHOLE(int64_t)
WHOLE(truth)

// Narrow integers take the low bits of the number's integer part, hence the conversion in two
// steps.
#define CAST(S, D, VIA, code) \
	GX_CLONES static void S##_to_##D(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		D *d = j->d; \
		const S *s = j->s; \
		GX_EACH(i, begin, end) d[i] = (D)VIA##_of_##S(s[i]); \
	}
TYPES(CAST, float)
TYPES(CAST, double)
TYPES(CAST, uint8_t)
TYPES(CAST, int8_t)
TYPES(CAST, int32_t)
TYPES(CAST, int64_t)
TYPES(CAST, truth)

#define ENTRY(S, D, VIA, code) [code] = S##_to_##D,
static const gx_range_fn table[GX_NUM_TYPES][GX_NUM_TYPES] = {
	[GX_F32] = {TYPES(ENTRY, float)}, [GX_F64] = {TYPES(ENTRY, double)},
		[GX_U8] = {TYPES(ENTRY, uint8_t)},
	[GX_I8] = {TYPES(ENTRY, int8_t)}, [GX_I32] = {TYPES(ENTRY, int32_t)},
		[GX_I64] = {TYPES(ENTRY, int64_t)}, [GX_BOOL] = {TYPES(ENTRY, truth)},
};

static const int8_t sizes[GX_NUM_TYPES] = {[GX_F32] = 4, [GX_F64] = 8, [GX_U8] = 1, [GX_I8] = 1,
	[GX_I32] = 4, [GX_I64] = 8, [GX_BOOL] = 1};

void gx_cast(void *d, int dtype, const void *s, int stype, int64_t n, int threads) {
	run((streamed){{d, s}, table[stype][dtype], sizes[dtype], sizes[stype]}, n, threads);
}

static inline float float_of(uint32_t b) { return gx_from_bits((int32_t)b); }

static inline uint32_t bits_of(float f) { return (uint32_t)gx_to_bits(f); }

static inline float half_to_float(uint16_t h) {
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
	float small = (float)(int32_t)rest * 5.9604644775390625e-8f; // subnormal: units of 2^-24
	uint32_t normal = (rest << 13) + (112u << 23);
	uint32_t special = (rest << 13) | 0x7f800000u;
	uint32_t r = rest < 0x0400 ? bits_of(small) : (rest < 0x7c00 ? normal : special);
	return float_of(sign | r);
}

static inline uint16_t float_to_half(float f) {
	uint32_t b = bits_of(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
	uint32_t normal = (a + 0xfff + (a >> 13 & 1) - 0x38000000u) >> 13;
	// Adding 0.5 puts units of 2^-24 into the low bits of the mantissa, rounded to even.
	uint32_t small = bits_of(float_of(a) + 0.5f) - 0x3f000000u;
	uint32_t r = a < 0x38800000u ? small : normal;
	r = a >= 0x477ff000u ? 0x7c00 : r;
	r = a > 0x7f800000u ? 0x7e00 : r;
	return (uint16_t)(sign | r);
}

#define CONVERT_RANGE(name, D, S, fn) \
	GX_CLONES static void name##_range(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		D *d = j->d; \
		const S *s = j->s; \
		GX_EACH(i, begin, end) d[i] = fn(s[i]); \
	}
#define CONVERT_ENTRY(name, D, S, range) \
	void gx_##name(D *d, const S *s, int64_t n, int threads) { \
		run((streamed){{d, s}, range, sizeof(D), sizeof(S)}, n, threads); \
	}
#define CONVERT(name, D, S, fn) \
	CONVERT_RANGE(name, D, S, fn) \
	CONVERT_ENTRY(name, D, S, name##_range)
CONVERT(from_half, float, uint16_t, half_to_float)
CONVERT(from_bf16, float, uint16_t, gx_bf16_float)
CONVERT(to_bf16, uint16_t, float, gx_float_bf16)
CONVERT_RANGE(to_half, uint16_t, float, float_to_half)

#if defined(__x86_64__)
#include <immintrin.h>

// wide_to_half_range lets the processor convert, and gives all NaN the same bits as float_to_half.
__attribute__((target("avx512f,avx512vl,avx512bw"))) static void wide_to_half_range(const void *arg,
	int64_t begin, int64_t end) {
	const job *j = arg;
	uint16_t *d = j->d;
	const float *s = j->s;
	const __m256i sign = _mm256_set1_epi16((short)0x8000), nan = _mm256_set1_epi16(0x7e00);
	int64_t i = begin;
	for (; i + 16 <= end; i += 16) {
		__m512 x = _mm512_loadu_ps(s + i);
		__m256i h = _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		__m256i bad = _mm256_or_si256(_mm256_and_si256(h, sign), nan);
		_mm256_storeu_si256((__m256i *)(d + i),
			_mm256_mask_mov_epi16(h, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bad));
	}
	for (; i < end; i++) d[i] = float_to_half(s[i]);
}

static gx_range_fn to_half(void) {
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
		? wide_to_half_range : to_half_range;
}
#else
static gx_range_fn to_half(void) { return to_half_range; }
#endif
CONVERT_ENTRY(to_half, uint16_t, float, to_half())
