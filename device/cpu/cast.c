#include "gx.h"
#include "move.h"

enum { GRAIN = 1024 };

typedef struct {
	void *d;
	const void *s;
} job;

#define TYPES(X, A) \
	X(A, float, float, GX_F32) X(A, double, double, GX_F64) X(A, uint8_t, int32_t, GX_U8) X(A, int8_t, int32_t, GX_I8) \
	X(A, int32_t, int32_t, GX_I32) X(A, int64_t, int64_t, GX_I64)

// Narrow integers take the low bits of the number's integer part, hence the conversion in two steps.
#define CAST(S, D, VIA, code) \
	GX_CLONES static void S##_to_##D(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		D *d = j->d; \
		const S *s = j->s; \
		GX_EACH(i, begin, end) d[i] = (D)(VIA)s[i]; \
	}
TYPES(CAST, float)
TYPES(CAST, double)
TYPES(CAST, uint8_t)
TYPES(CAST, int8_t)
TYPES(CAST, int32_t)
TYPES(CAST, int64_t)

#define ENTRY(S, D, VIA, code) [code] = S##_to_##D,
static const gx_range_fn table[GX_NUM_TYPES][GX_NUM_TYPES] = {
	[GX_F32] = {TYPES(ENTRY, float)}, [GX_F64] = {TYPES(ENTRY, double)}, [GX_U8] = {TYPES(ENTRY, uint8_t)},
	[GX_I8] = {TYPES(ENTRY, int8_t)}, [GX_I32] = {TYPES(ENTRY, int32_t)}, [GX_I64] = {TYPES(ENTRY, int64_t)},
};

void gx_cast(void *d, int dtype, const void *s, int stype, int64_t n, int threads) {
	job j = {d, s};
	gx_parallel(threads, n, GRAIN, table[stype][dtype], &j);
}

static inline float float_of(uint32_t b) {
	float f;
	memcpy(&f, &b, 4);
	return f;
}

static inline uint32_t bits_of(float f) {
	uint32_t b;
	memcpy(&b, &f, 4);
	return b;
}

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

static inline float bf16_to_float(uint16_t h) { return float_of((uint32_t)h << 16); }

static inline uint16_t float_to_bf16(float f) {
	uint32_t b = bits_of(f);
	uint32_t r = (b + 0x7fff + (b >> 16 & 1)) >> 16;
	return (uint16_t)((b & 0x7fffffff) > 0x7f800000u ? (b >> 16) | 0x40 : r);
}

#define CONVERT(name, D, S, fn) \
	GX_CLONES static void name##_range(const void *arg, int64_t begin, int64_t end) { \
		const job *j = arg; \
		D *d = j->d; \
		const S *s = j->s; \
		GX_EACH(i, begin, end) d[i] = fn(s[i]); \
	} \
	void gx_##name(D *d, const S *s, int64_t n, int threads) { \
		job j = {d, s}; \
		gx_parallel(threads, n, GRAIN, name##_range, &j); \
	}
CONVERT(from_half, float, uint16_t, half_to_float)
CONVERT(to_half, uint16_t, float, float_to_half)
CONVERT(from_bf16, float, uint16_t, bf16_to_float)
CONVERT(to_bf16, uint16_t, float, float_to_bf16)
