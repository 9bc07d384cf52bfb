// Elementwise kernels. The lists are the functions; Go's constants have the same order.
#ifndef GX_ELEM_H
#define GX_ELEM_H

#include <stdint.h>

// GX_MAPS lists functions of one element x with constants s and t.
#define GX_MAPS(X) \
	X(COPY, x) X(NEG, -x) X(ABS, gx_abs(x)) X(SIGN, (float)(x > 0.0f) - (float)(x < 0.0f)) \
	X(SQUARE, x *x) X(SQRT, sqrtf(x)) X(RSQRT, 1.0f / sqrtf(x)) X(CBRT, cbrtf(x)) X(RCBRT, 1.0f / cbrtf(x)) \
	X(RECIPROCAL, 1.0f / x) \
	X(EXP, gx_exp(x)) X(EXPM1, gx_expm1(x)) X(LOG, gx_log(x)) X(LOG1P, gx_log1p(x)) \
	X(LOG2, gx_log(x) * 1.44269504f) X(LOG10, gx_log(x) * 0.434294482f) \
	X(FLOOR, floorf(x)) X(CEIL, ceilf(x)) X(TRUNC, truncf(x)) X(RINT, floorf(x) + (float)(x - floorf(x) > 0.5f)) X(ROUND, truncf(x + copysignf(0.49999997f, x))) \
	X(RELU, x > 0.0f ? x : (x != x ? x : 0.0f)) X(SIGMOID, gx_sigmoid(x)) X(TANH, gx_tanh(x)) \
	X(SOFTPLUS, gx_softplus(x)) X(SOFTSIGN, x / (1.0f + gx_abs(x))) \
	X(ERF, gx_erf(x)) X(GELU, 0.5f * x * (1.0f + gx_erf(x * 0.70710678f))) \
	X(LEAKY, x > 0.0f ? x : s *x) X(ELU, x > 0.0f ? x : s *gx_expm1(x)) X(SCALEDELU, t *(x > 0.0f ? x : s *gx_expm1(x))) \
	X(CLIP, gx_clamp(x, s, t)) \
	X(ADDS, x + s) X(MULS, x *s) X(RSUBS, s - x) X(DIVS, x / s) X(RDIVS, s / x) \
	X(MAXS, x > s || x != x ? x : s) X(MINS, x < s || x != x ? x : s) \
	X(POWS, powf(x, s)) X(RPOWS, powf(s, x)) X(MODS, gx_mod(x, s)) X(RMODS, gx_mod(s, x)) X(HYPOTS, gx_hypot(x, s)) \
	X(EQS, (float)(x == s)) X(NES, (float)(x != s)) X(GTS, (float)(x > s)) X(GES, (float)(x >= s)) \
	X(LTS, (float)(x < s)) X(LES, (float)(x <= s)) \
	X(NOT, (float)(x == 0.0f)) \
	X(SIN, sinf(x)) X(COS, cosf(x)) X(TAN, tanf(x)) X(ASIN, asinf(x)) X(ACOS, acosf(x)) X(ATAN, atanf(x)) \
	X(SINH, sinhf(x)) X(COSH, coshf(x)) X(ASINH, asinhf(x)) X(ACOSH, acoshf(x)) X(ATANH, atanhf(x))

// GX_ZIPS lists functions of two elements a and b that also broadcast.
#define GX_ZIPS(X) \
	X(ADD, a + b) X(SUB, a - b) X(MUL, a *b) X(DIV, a / b) \
	X(MAX, a > b || a != a ? a : b) X(MIN, a < b || a != a ? a : b) \
	X(POW, powf(a, b)) X(MOD, gx_mod(a, b)) X(HYPOT, gx_hypot(a, b)) \
	X(EQ, (float)(a == b)) X(NE, (float)(a != b)) X(GT, (float)(a > b)) X(GE, (float)(a >= b)) \
	X(LT, (float)(a < b)) X(LE, (float)(a <= b)) \
	X(AND, (float)(a != 0.0f && b != 0.0f)) X(OR, (float)(a != 0.0f || b != 0.0f)) \
	X(XOR, (float)((a != 0.0f) != (b != 0.0f)))

// GX_GRADS lists gradients: a is the output's gradient, b the saved output or, where X is in the
// name, input; s and t are the constants of the forward function. They do not broadcast.
#define GX_GRADS(X) \
	X(RELU_GRAD, b > 0.0f ? a : (b != b ? b : 0.0f)) X(SIGMOID_GRAD, a *b *(1.0f - b)) X(TANH_GRAD, a *(1.0f - b * b)) \
	X(SOFTPLUS_GRAD, -a *gx_expm1(-b)) \
	X(SOFTSIGN_X_GRAD, a / ((1.0f + gx_abs(b)) * (1.0f + gx_abs(b)))) \
	X(GELU_X_GRAD, a *(0.5f * (1.0f + gx_erf(b * 0.70710678f)) + b * 0.39894228f * gx_exp(-0.5f * b * b))) \
	X(LEAKY_X_GRAD, b > 0.0f ? a : s *a) X(ELU_GRAD, b > 0.0f ? a : a *(s + b)) X(ELU_X_GRAD, b > 0.0f ? a : a *s *gx_exp(b)) \
	X(SELU_GRAD, b > 0.0f ? t *a : t *a *(s + b)) /* as MXNet: the derivative wants b / t */ \
	X(AXPBY, s *a + t * b)

// GX_WHOLE_ZIPS lists the functions of GX_ZIPS that integers have, of type T in arithmetic of type
// U, which wraps around.
#define GX_WHOLE_ZIPS(X, T, U) \
	X(T, ADD, (T)((U)a + (U)b)) X(T, SUB, (T)((U)a - (U)b)) X(T, MUL, (T)((U)a * (U)b)) \
	GX_LOGIC_ZIPS(X, T)

// GX_LOGIC_ZIPS lists the functions of GX_WHOLE_ZIPS that truth values have too.
#define GX_LOGIC_ZIPS(X, T) \
	X(T, MAX, a > b ? a : b) X(T, MIN, a < b ? a : b) \
	X(T, EQ, a == b) X(T, NE, a != b) X(T, GT, a > b) X(T, GE, a >= b) \
	X(T, LT, a < b) X(T, LE, a <= b) \
	X(T, AND, a != 0 && b != 0) X(T, OR, a != 0 || b != 0) X(T, XOR, (a != 0) != (b != 0))

#define GX_ENUM(name, expr) GX_##name,
enum { GX_MAPS(GX_ENUM) GX_NUM_MAPS };
enum { GX_ZIPS(GX_ENUM) GX_NUM_ZIPS };
enum { GX_GRAD_BEFORE_FIRST = GX_NUM_ZIPS - 1, GX_GRADS(GX_ENUM) GX_NUM_GRADS };

enum { GX_MAX_DIMS = 8 };

// Element types, in Go's order.
enum { GX_F32, GX_F64, GX_U8, GX_I8, GX_I32, GX_I64, GX_BOOL, GX_NUM_TYPES };

// gx_shape tells how two operands broadcast to an output of extents dims (row-major, dense).
// A stride counts elements and is 0 along axes that are repeated.
typedef struct {
	int64_t n;
	int64_t dims[GX_MAX_DIMS], a[GX_MAX_DIMS], b[GX_MAX_DIMS];
} gx_shape;

void gx_map(int op, float *d, const float *x, int64_t n, float s, float t, int threads);
void gx_zip(int op, float *d, const float *a, const float *b, int64_t n, float s, float t,
	int threads);
// On the calling thread
void gx_map_block(int op, float *d, const float *x, int64_t n, float s, float t);
void gx_zip_block(int op, float *d, const float *a, const float *b, int64_t n, float s, float t);

// gx_broadcast joins elements of a type that gx_broadcasts knows with the function.
void gx_broadcast(int op, int type, void *d, const void *a, const void *b, const gx_shape *shape,
	int threads);
int gx_broadcasts(int op, int type);

// gx_select writes a where c, of type ctype, is not zero, and b elsewhere: n elements of size 1, 4
// or 8.
void gx_select(void *d, const void *c, int ctype, const void *a, const void *b, int64_t n, int size,
	int threads);
void gx_fill(float *d, int64_t n, float v, int threads);

#endif
