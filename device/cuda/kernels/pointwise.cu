// Functions of one and two elements. Operands of ZIP broadcast: with nd > 0 they have strides along
// the axes of the output, 0 for repeated axes. Fused chains use the same expressions.

struct Map {
	T *out;
	const T *a, *b;
	Int n;
	double s, t;
	Int way_out, way_a, way_b; // ELEMENTS, WORDS or REPEATED
	Int nd, dim[AXES];
	Int by[AXES]; // divisors for quotient that stand for dim
	Int sa[AXES], sb[AXES];
};

// Floating-point remainder with the sign of b; 0 if b is 0.
template <class E> __device__ __noinline__ E gx_mod(E a, E b) {
	if (b == 0) return 0;
	E r = (E)fmod((double)a, (double)b);
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static __device__ __noinline__ Int gx_mod(Int a, Int b) {
	if (b == 0 || b == -1) return 0;
	Int r = a % b;
	return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
template <class E> __device__ inline E gx_div(E a, E b) { return a / b; }
static __device__ __noinline__ Int gx_div(Int a, Int b) {
	return b == 0 ? 0 : b == -1 ? -(uint64_t)a : a / b;
}
template <class E> __device__ inline E gx_rint(E x) {
	E lo = gx_floor(x), hi = gx_ceil(x);
	return x - lo > hi - x ? hi : lo;
}
template <class E> __device__ inline E gx_sigmoid(E x) { return (E)1 / ((E)1 + gx_exp(-x)); }
// log(1 + e^x) without overflow.
template <class E> __device__ inline E gx_softplus(E x) {
	return (x > 0 ? x : (E)0) + gx_log1p(gx_exp(-gx_abs(x)));
}

// The derivative of the digamma function.
static __device__ __noinline__ double gx_trigamma(double x) {
	const double pi = 3.14159265358979323846;
	if (x <= 0) {
		if (x == floor(x)) return INFINITY;
		double s = sin(pi * x);
		return pi * pi / (s * s) - gx_trigamma(1 - x);
	}
	double y = 0;
	for (; x < 10; x += 1) y += 1 / (x * x);
	double z = 1 / (x * x);
	return y + 1 / x + 0.5 * z + z / x * (1.0 / 6 -
		z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66)))));
}

// The inverse of the error function: a rational start (Giles) and two steps of Newton's method in
// double.
static __device__ __noinline__ double gx_erfinv(double x) {
	if (!(x > -1 && x < 1)) return x == 1 ? INFINITY : x == -1 ? -INFINITY : NAN;
	double w = -log((1 - x) * (1 + x)), p;
	if (w < 5) {
		w -= 2.5;
		p = 2.81022636e-08;
		p = 3.43273939e-07 + p * w;
		p = -3.5233877e-06 + p * w;
		p = -4.39150654e-06 + p * w;
		p = 0.00021858087 + p * w;
		p = -0.00125372503 + p * w;
		p = -0.00417768164 + p * w;
		p = 0.246640727 + p * w;
		p = 1.50140941 + p * w;
	} else {
		w = sqrt(w) - 3;
		p = -0.000200214257;
		p = 0.000100950558 + p * w;
		p = 0.00134934322 + p * w;
		p = -0.00367342844 + p * w;
		p = 0.00573950773 + p * w;
		p = -0.0076224613 + p * w;
		p = 0.00943887047 + p * w;
		p = 1.00167406 + p * w;
		p = 2.83297682 + p * w;
	}
	double y = p * x;
	for (int i = 0; i < 2; i++) {
		double e = (1 - fabs(x)) - erfc(fabs(y)); // erf(|y|) - |x|, precise near the ends
		y -= (y < 0 ? -e : e) / (1.12837916709551257390 * exp(-y * y));
	}
	return y;
}
static __device__ __noinline__ double gx_gamma(double x) {
	if (x == floor(x) && x < 0) return NAN;
	return tgamma(x);
}

static __device__ __noinline__ double gx_lgamma(double x) { return lgamma(x); }
static __device__ __noinline__ A gx_hypot(A x, A y) { return (A)hypot((double)x, (double)y); }

// SHORT and LONG expressions: loops over long ones are not unrolled, because that slows the
// compiler down and gains nothing.
#define SHORT WORD
#define LONG 1
#define LENGTH SHORT
#define MAP(name, value) \
	struct of_##name { \
		__device__ A operator()(A x, A, A s, A t) const { return (A)(value); } \
	}; \
	KERNEL(name, Map) { each_word<of_##name, 1, LENGTH>(k); }
#define ZIP(name, value) \
	struct of_##name { \
		__device__ A operator()(A x, A y, A s, A t) const { return (A)(value); } \
	}; \
	KERNEL(name, Map) { each_word<of_##name, 2, LENGTH>(k); }

// Each thread treats a word of eight bytes, WORD elements, at a time.
const int WORD = 8 / (int)sizeof(T), BITS = 8 * (int)sizeof(T);
// The ways to read and write the elements of a word: one by one; at once, if the address is a
// multiple of eight bytes; one element for all.
enum { ELEMENTS, WORDS, REPEATED };

template <int size> struct Bits;
template <> struct Bits<1> { typedef uint8_t type; };
template <> struct Bits<2> { typedef uint16_t type; };
template <> struct Bits<4> { typedef uint32_t type; };
template <> struct Bits<8> { typedef uint64_t type; };
union Lane {
	Bits<sizeof(T)>::type bits;
	T value;
};
__device__ inline A lane(uint64_t word, int j) {
	Lane l;
	l.bits = (Bits<sizeof(T)>::type)(word >> BITS * j);
	return get(&l.value, 0);
}
__device__ inline uint64_t bits(const T *p, int j) {
	return (uint64_t)*(const Bits<sizeof(T)>::type *)p << BITS * j;
}
// fetch reads the first m elements of a word.
__device__ inline uint64_t fetch(const T *p, int m, Int way) {
	if (way == WORDS && m == WORD) return *(const uint64_t *)p;
	if (way == REPEATED) return bits(p, 0) * (~(uint64_t)0 / (~(uint64_t)0 >> (64 - BITS)));
	uint64_t word = 0;
	_Pragma("unroll 1") for (int j = 0; j < m; j++) word |= bits(p + j, j);
	return word;
}
__device__ inline void store(T *p, int m, Int way, uint64_t word) {
	if (way == WORDS && m == WORD) {
		*(uint64_t *)p = word;
		return;
	}
	_Pragma("unroll 1") for (int j = 0; j < m; j++)
		((Bits<sizeof(T)>::type *)p)[j] = (Bits<sizeof(T)>::type)(word >> BITS * j);
}

// quotient divides i < 2^31 by the number d for which by is m + 2^32·s: 2^s is the least power of
// two not below d, and m is 1 more than 2^32·(2^s - d)/d, rounded down (Granlund and Montgomery,
// 1994).
__device__ inline uint32_t quotient(uint32_t i, Int by) {
	return ((uint32_t)((uint64_t)i * (uint32_t)by >> 32) + i) >> (int)(by >> 32);
}
// place finds the elements of the operands that element i of the output needs.
__device__ inline void place(const Map &k, Int i, Int &a, Int &b) {
	a = b = 0;
	if (k.n >= (Int)1 << 31) {
		a = at(i, k.nd, k.dim, k.sa), b = at(i, k.nd, k.dim, k.sb);
		return;
	}
	uint32_t rest = (uint32_t)i, ia = 0, ib = 0;
	_Pragma("unroll 1") for (int d = (int)k.nd - 1; d > 0; d--) {
		uint32_t q = quotient(rest, k.by[d]), at = rest - q * (uint32_t)k.dim[d];
		ia += at * (uint32_t)k.sa[d], ib += at * (uint32_t)k.sb[d];
		rest = q;
	}
	a = ia + rest * (uint32_t)k.sa[0], b = ib + rest * (uint32_t)k.sb[0];
}

template <class F, int operands, int unrolled> __device__ inline void each_word(const Map &k) {
	const A s = (A)k.s, t = (A)k.t;
	const F f;
	_Pragma("unroll 1") EACH(w, (k.n + WORD - 1) / WORD) {
		const Int i = w * WORD;
		const int m = k.n - i < WORD ? (int)(k.n - i) : WORD;
		uint64_t a = 0, b = 0, out = 0;
		Int ia = i, ib = i;
		if (operands == 2 && k.nd > 0) place(k, i, ia, ib);
		if (operands == 1 || k.nd == 0 || (k.way_a != ELEMENTS && k.way_b != ELEMENTS)) {
			a = fetch(k.a + ia, m, k.way_a);
			if (operands == 2) b = fetch(k.b + ib, m, k.way_b);
		} else
			_Pragma("unroll 1") for (int j = 0; j < m; j++) {
				if (j > 0) place(k, i + j, ia, ib);
				a |= bits(k.a + ia, j), b |= bits(k.b + ib, j);
			}
#pragma unroll (unrolled)
		for (int j = 0; j < WORD; j++) {
			Lane l;
			put(&l.value, 0, f(lane(a, j), lane(b, j), s, t));
			out |= (uint64_t)l.bits << BITS * j;
		}
		store(k.out + i, m, k.way_out, out);
	}
}

MAP(copy, x)
MAP(abs, gx_abs(x))
MAP(sign, (x > 0) - (x < 0))
MAP(neg, -x)
MAP(square, x * x)
MAP(relu, x < 0 ? (A)0 : x)
MAP(lnot, x == 0)
MAP(clip, x < s ? s : x > t ? t : x)
MAP(clip_mask, !(x < s || x > t))
MAP(adds, x + s)
MAP(subs, x - s)
MAP(rsubs, s - x)
MAP(muls, x * s)
MAP(divs, gx_div(x, s))
MAP(rdivs, gx_div(s, x))
MAP(mods, gx_mod(x, s))
MAP(rmods, gx_mod(s, x))
MAP(maxs, gx_max(x, s))
MAP(mins, gx_min(x, s))
MAP(eqs, x == s)
MAP(nes, x != s)
MAP(gts, x > s)
MAP(ges, x >= s)
MAP(lts, x < s)
MAP(les, x <= s)
MAP(ands, x != 0 && s != 0)
MAP(ors, x != 0 || s != 0)
MAP(xors, (x != 0) != (s != 0))
ZIP(add, x + y)
ZIP(sub, x - y)
ZIP(mul, x * y)
ZIP(div, gx_div(x, y))
ZIP(mod, gx_mod(x, y))
ZIP(max, gx_max(x, y))
ZIP(min, gx_min(x, y))
ZIP(eq, x == y)
ZIP(ne, x != y)
ZIP(gt, x > y)
ZIP(ge, x >= y)
ZIP(lt, x < y)
ZIP(le, x <= y)
ZIP(land, x != 0 && y != 0)
ZIP(lor, x != 0 || y != 0)
ZIP(lxor, (x != 0) != (y != 0))

#if GX_FLOATS
#undef LENGTH
#define LENGTH LONG
MAP(reciprocal, (A)1 / x)
MAP(sqrt, gx_sqrt(x))
MAP(rsqrt, (A)1 / gx_sqrt(x))
MAP(cbrt, gx_cbrt(x))
MAP(rcbrt, (A)1 / gx_cbrt(x))
MAP(exp, gx_exp(x))
MAP(expm1, gx_expm1(x))
MAP(log, gx_log(x))
MAP(log10, gx_log10(x))
MAP(log2, gx_log2(x))
MAP(log1p, gx_log1p(x))
MAP(sigmoid, gx_sigmoid(x))
MAP(softsign, x / ((A)1 + gx_abs(x)))
MAP(softrelu, gx_softplus(x))
MAP(tanh, gx_tanh(x))
MAP(erf, gx_erf(x))
MAP(erfinv, gx_erfinv(x))
MAP(gamma, gx_gamma(x))
MAP(gammaln, gx_lgamma(x))
MAP(digamma, gx_psi(x))
MAP(trigamma, gx_trigamma(x))
MAP(round, gx_round(x))
MAP(rint, gx_rint(x))
MAP(ceil, gx_ceil(x))
MAP(floor, gx_floor(x))
MAP(trunc, gx_trunc(x))
MAP(sin, gx_sin(x))
MAP(cos, gx_cos(x))
MAP(tan, gx_tan(x))
MAP(arcsin, gx_asin(x))
MAP(arccos, gx_acos(x))
MAP(arctan, gx_atan(x))
MAP(sinh, gx_sinh(x))
MAP(cosh, gx_cosh(x))
MAP(arcsinh, gx_asinh(x))
MAP(arccosh, gx_acosh(x))
MAP(arctanh, gx_atanh(x))
MAP(pows, gx_pow(x, s))
MAP(rpows, gx_pow(s, x))
MAP(hypots, gx_hypot(x, s))
MAP(leaky, x > 0 ? x : x * s)
MAP(elu, x > 0 ? x : s * gx_expm1(x))
MAP(selu, (A)1.0507009873554804934193349852946 *
	(x > 0 ? x : (A)1.6732632423543772848170429916717 * gx_expm1(x)))
MAP(gelu, (A)0.5 * x * ((A)1 + gx_erf(x * (A)0.70710678118654752440)))
MAP(hardsigmoid, gx_max((A)0, gx_min((A)1, s * x + t)))
MAP(smooth_l1, gx_abs(x) > t ? gx_abs(x) - (A)0.5 * t : (A)0.5 * x * x * s)
ZIP(pow, gx_pow(x, y))
ZIP(hypot, gx_hypot(x, y))
// Gradients: x is the gradient of the result, y the result or the operand.
ZIP(relu_grad, y > 0 ? x : (y != y ? y : (A)0))
ZIP(sigmoid_grad, x * y * ((A)1 - y))
ZIP(tanh_grad, x * ((A)1 - y * y))
ZIP(softrelu_grad, x * -gx_expm1(-y))
ZIP(leaky_grad, y > 0 ? x : x * s)
ZIP(elu_grad, y > 0 ? x : x * (s + y))
ZIP(elu_grad_of_data, y > 0 ? x : x * s * gx_exp(y))
ZIP(selu_grad, x * (A)1.0507009873554804934193349852946 *
	(y > 0 ? (A)1 : (A)1.6732632423543772848170429916717 + y))
ZIP(gelu_grad, x * ((A)0.5 * ((A)1 + gx_erf(y * (A)0.70710678118654752440)) +
	y * gx_exp((A)-0.5 * y * y) * (A)0.39894228040143267794))
ZIP(scaled_difference, s * (x - y))
ZIP(scaled_sign, s * (x > y ? (A)1 : (A)-1))
ZIP(smooth_l1_grad, x * gx_min(gx_max(s * y, (A)-1), (A)1))
ZIP(softsign_grad, x / (((A)1 + gx_abs(y)) * ((A)1 + gx_abs(y))))
#endif
