// Elementary functions of one float without branches, so that loops over them vectorize. Errors are
// a few units in the last place; infinities and NaN come out as in libm.
// Polynomials are minimax fits on the stated intervals.
#ifndef GXMATH_H
#define GXMATH_H

#include "gx.h"

static inline float gx_from_bits(int32_t i) {
	float f;
	memcpy(&f, &i, 4);
	return f;
}

static inline int32_t gx_to_bits(float f) {
	int32_t i;
	memcpy(&i, &f, 4);
	return i;
}

static inline float gx_bf16_float(uint16_t h) { return gx_from_bits((int32_t)((uint32_t)h << 16)); }

// gx_float_bf16 rounds to even. NaN stays NaN.
static inline uint16_t gx_float_bf16(float f) {
	uint32_t b = (uint32_t)gx_to_bits(f), r = (b + 0x7fff + (b >> 16 & 1)) >> 16;
	return (uint16_t)((b & 0x7fffffff) > 0x7f800000u ? b >> 16 | 0x40 : r);
}

static inline float gx_abs(float x) { return fabsf(x); }

// gx_pow2 returns 2^k for k in [-126, 127].
static inline float gx_pow2(int32_t k) { return gx_from_bits((k + 127) << 23); }

// gx_exp_parts writes exp(x) = (1 + m) * 2^k with |m| < 0.42, for |x| < 1e6.
static inline float gx_exp_parts(float x, int32_t *k) {
	const float shift = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
	float n = x * 1.442695041f + shift;
	*k = gx_to_bits(n) - 0x4B400000;
	n -= shift;
	float r = (x - n * 0.693145752f) - n * 1.42860677e-6f; // ln 2 in two parts
	float p = 1.394214942e-03f;
	p = p * r + 8.363769538e-03f;
	p = p * r + 4.166636359e-02f;
	p = p * r + 1.666657340e-01f;
	p = p * r + 5.000000029e-01f;
	return p * r * r + r;
}

static inline float gx_exp(float x) {
	x = x > 89.0f ? 89.0f : x;
	x = x < -104.0f ? -104.0f : x;
	int32_t k;
	float m = gx_exp_parts(x, &k);
	int32_t h = k >> 1; // in two steps: k may lie outside the exponents of normal numbers
	return (1.0f + m) * gx_pow2(h) * gx_pow2(k - h);
}

// gx_exp_down is gx_exp of numbers that are not above zero; subnormal results become zero.
static inline float gx_exp_down(float x) {
	float y = x < -87.0f ? -87.0f : x;
	int32_t k;
	float e = (1.0f + gx_exp_parts(y, &k)) * gx_pow2(k);
	return x < -87.0f ? 0.0f : e;
}

static inline float gx_expm1(float x) {
	float z = x > 0.5f ? 0.5f : (x < -0.5f ? -0.5f : x);
	float p = 1.997949959e-04f; // on [-0.5, 0.5]
	p = p * z + 1.398219630e-03f;
	p = p * z + 8.333127936e-03f;
	p = p * z + 4.166579098e-02f;
	p = p * z + 1.666666748e-01f;
	p = p * z + 5.000000122e-01f;
	float small = p * z * z + z;
	float large = gx_exp(x) - 1.0f;
	return gx_abs(x) <= 0.5f ? small : large;
}

// gx_log1p_core returns log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], plus e * ln 2.
static inline float gx_log_core(float f, float e) {
	float p = 7.332444878e-02f;
	p = p * f - 1.165989909e-01f;
	p = p * f + 1.163467957e-01f;
	p = p * f - 1.239670580e-01f;
	p = p * f + 1.425115450e-01f;
	p = p * f - 1.666915074e-01f;
	p = p * f + 2.000068811e-01f;
	p = p * f - 2.499998119e-01f;
	p = p * f + 3.333333126e-01f;
	float z = f * f;
	return (p * f * z + e * 1.42860677e-6f - 0.5f * z) + f + e * 0.693145752f;
}

static inline float gx_log(float x) {
	float tiny = x < 1.17549435e-38f ? 1.0f : 0.0f; // subnormal numbers are scaled first
	float y = tiny != 0.0f ? x * 8388608.0f : x;
	int32_t b = gx_to_bits(y);
	int32_t k = (b - 0x3F3504F3) >> 23; // so that the mantissa is in [sqrt(1/2), sqrt(2))
	float m = gx_from_bits(b - (int32_t)((uint32_t)k << 23));
	float r = gx_log_core(m - 1.0f, (float)k - tiny * 23.0f);
	r = x == INFINITY ? INFINITY : r;
	r = x == 0.0f ? -INFINITY : r;
	return x >= 0.0f ? r : NAN;
}

static inline float gx_log1p(float x) {
	float u = 1.0f + x;
	float err = x - (u - 1.0f); // the rounding error of u
	float r = gx_log(u) + (u == INFINITY || u == 0.0f ? 0.0f : err / u);
	return gx_abs(x) < 1e-7f ? x : r;
}

static inline float gx_tanh(float x) {
	float a = gx_abs(x), z = x * x;
	float p = -6.227302697e-03f; // on [-0.6, 0.6]
	p = p * z + 2.108563018e-02f;
	p = p * z - 5.386935825e-02f;
	p = p * z + 1.333289055e-01f;
	p = p * z - 3.333333015e-01f;
	p = p * z * x + x;
	int32_t k;
	float e = 1.0f + gx_exp_parts(a > 9.5f ? 19.0f : a + a, &k);
	float t = 1.0f - 2.0f / (e * gx_pow2(k) + 1.0f);
	t = x < 0.0f ? -t : t;
	return a < 0.6f ? p : t;
}

static inline float gx_sigmoid(float x) { return 1.0f / (1.0f + gx_exp(-x)); }

// gx_softplus returns log(1 + exp(x)).
static inline float gx_softplus(float x) {
	float m = x > 0.0f ? x : 0.0f;
	return x != x ? x : m + gx_log1p(gx_exp(-gx_abs(x)));
}

// gx_erf is x*P(x^2)/Q(x^2) up to where erf rounds to one.
static inline float gx_erf(float x) {
	float c = x > 3.92f ? 3.92f : (x < -3.92f ? -3.92f : x), z = c * c;
	float p = 2.050088809e-06f;
	p = p * z + 2.848831240e-04f;
	p = p * z + 3.765625116e-03f;
	p = p * z + 5.274874890e-02f;
	p = p * z + 1.904066284e-01f;
	p = p * z + 1.128379146e+00f;
	float q = 3.809175183e-05f;
	q = q * z + 1.162537894e-03f;
	q = q * z + 1.496923271e-02f;
	q = q * z + 1.141091826e-01f;
	q = q * z + 5.020762218e-01f;
	q = q * z + 1.0f;
	float t = c * p / q;
	t = t > 1.0f ? 1.0f : t;
	return t < -1.0f ? -1.0f : t;
}

// gx_hypot is infinite where an operand is, also when the other one is NaN.
static inline float gx_hypot(float x, float y) {
	if (isinf(x) || isinf(y)) return INFINITY;
	return (float)sqrt((double)x * x + (double)y * y);
}

// gx_mod is the remainder with the sign of the divisor, 0 for a divisor of 0.
static inline float gx_mod(float x, float y) {
	if (y == 0.0f) return 0.0f;
	float r = fmodf(x, y);
	return r != 0.0f && (r < 0.0f) != (y < 0.0f) ? r + y : r;
}

#endif
