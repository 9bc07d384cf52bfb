// Declarations for all kernels. T is the element type for which a file is compiled, A its
// arithmetic type.

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned short uint16_t;
typedef short int16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
// A kernel takes one struct of eight-byte fields, k.
#define KERNEL(name, Args) extern "C" __global__ void k_##name(const Args k)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#endif

typedef int64_t Int; // sizes and indices
typedef void *Ptr;

enum { F32 = 1, F64, F16, U8, I32, I8, I64, BOOL, I16, U16, U32, U64, BF16 };

struct half_t {
	uint16_t bits;
};
struct bfloat_t {
	uint16_t bits;
};

__device__ inline float from_half(uint16_t h) {
#ifdef __CUDACC_RTC__
	float f;
	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
#else
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 0x1f, frac = h & 0x3ff;
	if (exp == 0x1f) return __uint_as_float(sign | 0x7f800000 | frac << 13);
	if (exp == 0) return __uint_as_float(sign | __float_as_uint((float)frac / 16777216.0f));
	return __uint_as_float(sign | (exp + 112) << 23 | frac << 13);
#endif
}

__device__ inline uint16_t to_half(float f) {
#ifdef __CUDACC_RTC__
	uint16_t h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
#else
	uint32_t b = __float_as_uint(f), sign = b >> 16 & 0x8000, abs = b & 0x7fffffff;
	if (abs > 0x7f800000) return sign | 0x7e00;
	if (abs >= 0x47800000) return sign | 0x7c00;
	if (abs < 0x38800000) return sign | (uint16_t)rintf(__uint_as_float(abs) * 16777216.0f);
	abs += 0xfff + (abs >> 13 & 1);
	return sign | (abs - 0x38000000) >> 13;
#endif
}

__device__ inline float from_bfloat(uint16_t h) { return __uint_as_float((uint32_t)h << 16); }

__device__ inline uint16_t to_bfloat(float f) {
	uint32_t b = __float_as_uint(f);
	if ((b & 0x7fffffff) > 0x7f800000) return b >> 16 | 0x40;
	return (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

__device__ inline Int cut64(double v) { return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (Int)v : (Int)0x8000000000000000ull; }

// The element type and the arithmetic of a unit.
#ifndef GX_T
#define GX_T 1
#endif
#define GX_FLOATS (GX_T == 1 || GX_T == 2 || GX_T == 3 || GX_T == 13)
#if GX_T == 1
typedef float T;
#elif GX_T == 2
typedef double T;
#elif GX_T == 3
typedef half_t T;
#elif GX_T == 4
typedef uint8_t T;
#elif GX_T == 5
typedef int32_t T;
#elif GX_T == 6
typedef int8_t T;
#elif GX_T == 7
typedef int64_t T;
#elif GX_T == 8
typedef bool T;
#elif GX_T == 9
typedef int16_t T;
#elif GX_T == 10
typedef uint16_t T;
#elif GX_T == 11
typedef uint32_t T;
#elif GX_T == 12
typedef uint64_t T;
#elif GX_T == 13
typedef bfloat_t T;
#endif

#if GX_T == 2
typedef double A;
#elif GX_FLOATS
typedef float A;
#else
typedef Int A;
#endif

// get reads an element; put rounds a number once and writes it.
__device__ inline float get(const float *p, Int i) { return p[i]; }
__device__ inline double get(const double *p, Int i) { return p[i]; }
__device__ inline float get(const half_t *p, Int i) { return from_half(p[i].bits); }
__device__ inline float get(const bfloat_t *p, Int i) { return from_bfloat(p[i].bits); }
template <class E> __device__ inline Int get(const E *p, Int i) { return (Int)p[i]; }

__device__ inline void put(float *p, Int i, float v) { p[i] = v; }
__device__ inline void put(double *p, Int i, double v) { p[i] = v; }
__device__ inline void put(half_t *p, Int i, float v) { p[i].bits = to_half(v); }
__device__ inline void put(bfloat_t *p, Int i, float v) { p[i].bits = to_bfloat(v); }
__device__ inline void put(bool *p, Int i, Int v) { p[i] = v != 0; }
template <class E> __device__ inline void put(E *p, Int i, Int v) { p[i] = (E)v; }

// read and write serve operands whose element type is known at run time only.
__device__ inline double read(Ptr p, Int type, Int i) {
	switch (type) {
	case F32: return ((float *)p)[i];
	case F64: return ((double *)p)[i];
	case F16: return get((half_t *)p, i);
	case BF16: return get((bfloat_t *)p, i);
	case U8: return ((uint8_t *)p)[i];
	case I8: return ((int8_t *)p)[i];
	case I32: return ((int32_t *)p)[i];
	case I64: return (double)((Int *)p)[i];
	case BOOL: return ((bool *)p)[i];
	case I16: return ((int16_t *)p)[i];
	case U16: return ((uint16_t *)p)[i];
	case U32: return ((uint32_t *)p)[i];
	case U64: return (double)((uint64_t *)p)[i];
	}
	return 0;
}

__device__ inline bool is_float(Int type) { return type == F32 || type == F64 || type == F16 || type == BF16; }

__device__ inline Int read_int(Ptr p, Int type, Int i) {
	switch (type) {
	case U8: return ((uint8_t *)p)[i];
	case I8: return ((int8_t *)p)[i];
	case I32: return ((int32_t *)p)[i];
	case I64: case U64: return ((Int *)p)[i];
	case BOOL: return ((bool *)p)[i];
	case I16: return ((int16_t *)p)[i];
	case U16: return ((uint16_t *)p)[i];
	case U32: return ((uint32_t *)p)[i];
	}
	return cut64(read(p, type, i));
}

__device__ inline void write_int(Ptr p, Int type, Int i, Int v) {
	switch (type) {
	case F32: ((float *)p)[i] = (float)v; break;
	case F64: ((double *)p)[i] = (double)v; break;
	case F16: put((half_t *)p, i, (float)v); break;
	case BF16: put((bfloat_t *)p, i, (float)v); break;
	case U8: case I8: case BOOL: ((uint8_t *)p)[i] = type == BOOL ? v != 0 : (uint8_t)v; break;
	case I16: case U16: ((uint16_t *)p)[i] = (uint16_t)v; break;
	case I32: case U32: ((uint32_t *)p)[i] = (uint32_t)v; break;
	default: ((Int *)p)[i] = v;
	}
}

// write rounds to the type of the operand; numbers that an integer cannot hold become its smallest
// value.
__device__ inline void write(Ptr p, Int type, Int i, double v) {
	switch (type) {
	case F32: ((float *)p)[i] = (float)v; return;
	case F64: ((double *)p)[i] = v; return;
	case F16: put((half_t *)p, i, (float)v); return;
	case BF16: put((bfloat_t *)p, i, (float)v); return;
	case BOOL: ((bool *)p)[i] = v != 0; return;
	case U64: ((uint64_t *)p)[i] = v >= 9223372036854775808.0 && v < 18446744073709551616.0 ? (uint64_t)(v - 9223372036854775808.0) ^ 0x8000000000000000ull : (uint64_t)cut64(v); return;
	case I8: case U8: case I16: case U16: case I32: write_int(p, type, i, v > -2147483649.0 && v < 2147483648.0 ? (Int)v : (Int)-2147483648ll); return;
	}
	write_int(p, type, i, cut64(v));
}

// EACH runs i over [0, n), spread over all threads.
#define THREAD ((Int)blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS ((Int)gridDim.x * blockDim.x)
#define EACH(i, n) for (Int i = THREAD, each_end = (n); i < each_end; i += THREADS)

const int AXES = 8; // largest number of axes of strided operands

__device__ inline float gx_max(float a, float b) { return isnan(a) || a > b ? a : b; }
__device__ inline double gx_max(double a, double b) { return isnan(a) || a > b ? a : b; }
__device__ inline Int gx_max(Int a, Int b) { return a > b ? a : b; }
__device__ inline float gx_min(float a, float b) { return isnan(a) || a < b ? a : b; }
__device__ inline double gx_min(double a, double b) { return isnan(a) || a < b ? a : b; }
__device__ inline Int gx_min(Int a, Int b) { return a < b ? a : b; }

// at returns the position of element i of a walk along n axes.
__device__ inline Int at(Int i, Int n, const Int *dim, const Int *stride) {
	Int off = 0;
	_Pragma("unroll 1") for (int d = (int)n - 1; d > 0; d--) {
		off += i % dim[d] * stride[d];
		i /= dim[d];
	}
	return n > 0 ? off + i * stride[0] : 0;
}

// Functions of the arithmetic type.
__device__ inline float gx_exp(float x) { return expf(x); }
__device__ inline double gx_exp(double x) { return exp(x); }
static __device__ __noinline__ float gx_pow(float x, float y) { return powf(x, y); }
static __device__ __noinline__ double gx_pow(double x, double y) { return pow(x, y); }
#define ONE(name, f, d) \
	__device__ inline float name(float x) { return f(x); } \
	__device__ inline double name(double x) { return d(x); }
ONE(gx_expm1, expm1f, expm1)
ONE(gx_log, logf, log)
ONE(gx_log10, log10f, log10)
ONE(gx_log2, log2f, log2)
ONE(gx_log1p, log1pf, log1p)
ONE(gx_sqrt, sqrtf, sqrt)
ONE(gx_cbrt, cbrtf, cbrt)
ONE(gx_tanh, tanhf, tanh)
ONE(gx_erf, erff, erf)
ONE(gx_round, roundf, round)
ONE(gx_ceil, ceilf, ceil)
ONE(gx_floor, floorf, floor)
ONE(gx_trunc, truncf, trunc)
ONE(gx_sin, sinf, sin)
ONE(gx_cos, cosf, cos)
ONE(gx_tan, tanf, tan)
ONE(gx_asin, asinf, asin)
ONE(gx_acos, acosf, acos)
ONE(gx_atan, atanf, atan)
ONE(gx_sinh, sinhf, sinh)
ONE(gx_cosh, coshf, cosh)
ONE(gx_asinh, asinhf, asinh)
ONE(gx_acosh, acoshf, acosh)
ONE(gx_atanh, atanhf, atanh)
ONE(gx_abs, fabsf, fabs)
__device__ inline Int gx_abs(Int x) { return x < 0 ? -x : x; }

// The digamma function: by reflection for x below zero, by recurrence up to 10, and from there by
// its asymptotic series. At its poles it returns the largest number.
static __device__ __noinline__ double gx_psi(double x) {
	double y = 0;
	if (x <= 0) {
		if (x == floor(x)) return 1.7976931348623157e308;
		y = -3.14159265358979323846 / tan(3.14159265358979323846 * x);
		x = 1 - x;
	}
	for (; x < 10; x += 1) y -= 1 / x;
	double z = 1 / (x * x);
	return y + log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
}

const int BLOCK = 256; // largest number of threads of a block that reduces

struct Add {
	template <class E> __device__ E operator()(E a, E b) const { return a + b; }
};
struct Times {
	template <class E> __device__ E operator()(E a, E b) const { return a * b; }
};
struct Most {
	template <class E> __device__ E operator()(E a, E b) const { return gx_max(a, b); }
};
struct Least {
	template <class E> __device__ E operator()(E a, E b) const { return gx_min(a, b); }
};

// together folds the values of all threads of a block, always in the same order, and returns the
// result to each thread. The number of threads is a power of two.
template <class F, class E> __device__ inline E together(E v) {
	__shared__ E buf[BLOCK];
	F fold;
	__syncthreads();
	buf[threadIdx.x] = v;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if ((int)threadIdx.x < half) buf[threadIdx.x] = fold(buf[threadIdx.x], buf[threadIdx.x + half]);
		__syncthreads();
	}
	return buf[0];
}

// across folds the values of N neighbouring threads of a warp, always in the same order, and returns
// the result to each of them. N is a power of two; all threads of the warp call it.
template <class F, int N, class E> __device__ inline E across(E v) {
	F fold;
	for (int bits = N / 2; bits > 0; bits /= 2)
		v = fold(v, __shfl_xor_sync(0xffffffffu, v, bits));
	return v;
}

// part_of returns which of count arrays part b belongs to: the last one whose first part is at most b.
__device__ inline int part_of(const Int *first, Int count, Int b) {
	int low = 0, high = (int)count - 1;
	while (low < high) {
		int middle = (low + high + 1) / 2;
		if (first[middle] <= b) low = middle;
		else high = middle - 1;
	}
	return low;
}

// turn transposes matrices of rows and columns, one after the other, through tiles of E in shared
// memory, so that accesses of memory are contiguous: load(i) reads element i of the source, and
// store(i, v) writes an element of the result.
template <class E, class Load, class Store> __device__ inline void turn(Int batch, Int rows, Int cols,
	Load load, Store store) {
	const int tile = 32;
	__shared__ E buf[tile][tile + 1];
	Int across = (cols + tile - 1) / tile, down = (rows + tile - 1) / tile;
	for (Int b = blockIdx.x; b < across * down * batch; b += gridDim.x) {
		Int c0 = b % across * tile, r0 = b / across % down * tile,
			base = b / (across * down) * rows * cols;
		int x = threadIdx.x % tile, y = threadIdx.x / tile, step = blockDim.x / tile;
		for (int r = y; r < tile; r += step)
			if (r0 + r < rows && c0 + x < cols) buf[r][x] = load(base + (r0 + r) * cols + c0 + x);
		__syncthreads();
		for (int c = y; c < tile; c += step)
			if (c0 + c < cols && r0 + x < rows) store(base + (c0 + c) * rows + r0 + x, buf[x][c]);
		__syncthreads();
	}
}

// Philox 4x32-10 (Salmon et al. 2011), the same stream as on the processor: element i is word i%4
// of block i/4.

__device__ inline void philox(uint64_t key, uint64_t counter, uint32_t stream, uint64_t n, uint32_t *out) {
	uint64_t at = counter + n;
	uint32_t c0 = (uint32_t)at, c1 = (uint32_t)(at >> 32), c2 = stream, c3 = 0, k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	for (int r = 0; r < 10; r++) {
		uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
		uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
		c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
		k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
	}
	out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}
__device__ inline double unit(uint32_t word) { return (double)(word >> 8) / 16777216.0; }

// Any is an operand whose element type is known at run time only; p is zero if it is missing.
static __device__ __noinline__ double any_get(Ptr p, Int type, Int i) { return read(p, type, i); }
static __device__ __noinline__ Int any_get_int(Ptr p, Int type, Int i) { return read_int(p, type, i); }
static __device__ __noinline__ void any_set(Ptr p, Int type, Int i, double v) { write(p, type, i, v); }
static __device__ __noinline__ void any_set_int(Ptr p, Int type, Int i, Int v) { write_int(p, type, i, v); }
struct Any {
	Ptr p;
	Int type;
	__device__ double operator[](Int i) const { return any_get(p, type, i); }
	__device__ Int integer(Int i) const { return any_get_int(p, type, i); }
	// floored rounds element i down; integer rounds it towards zero.
	__device__ Int floored(Int i) const { return is_float(type) ? (Int)floor((*this)[i]) : integer(i); }
	__device__ void set(Int i, double v) const { any_set(p, type, i, v); }
	__device__ void set_integer(Int i, Int v) const { any_set_int(p, type, i, v); }
	// copy sets element i to element j of another operand of this type.
	__device__ void copy(Int i, const Any &from, Int j) const {
		if (is_float(type)) set(i, from[j]);
		else set_integer(i, from.integer(j));
	}
};
