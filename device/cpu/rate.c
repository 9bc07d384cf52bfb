#include "rate.h"

#include "gx.h"

enum { STEPS = 1 << 20, SUMS = 10 };

// FMA defines a function that adds to SUMS vectors of some bytes in turn.
#define FMA(name, bytes, isa) \
	typedef float name##_v __attribute__((vector_size(bytes))); \
	isa static void name(const void *arg, int64_t begin, int64_t end) { \
		for (int64_t t = begin; t < end; t++) { \
			name##_v s[SUMS], half = {0}; \
			half += 0.5f; \
			for (int k = 0; k < SUMS; k++) s[k] = half * (float)k; \
			for (int i = 0; i < STEPS; i++) { \
				_Pragma("GCC unroll 16") for (int k = 0; k < SUMS; k++) s[k] = s[k] * half + half; \
				__asm__ volatile("" ::: "memory"); \
			} \
			name##_v all = s[0]; \
			for (int k = 1; k < SUMS; k++) all += s[k]; \
			((float *)arg)[t] = all[0]; \
		} \
	}

enum { THREADS = 1024 };

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

FMA(wide, 64, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))))
FMA(half, 32, __attribute__((target("avx2,fma"))))
FMA(plain, 16, )

double gx_rate_fma(int threads) {
	float out[THREADS] = {0};
	int lanes = 16;
	gx_range_fn fn = wide;
	threads = gx_min(threads, THREADS);
	if (!gx_is_v4()) {
		lanes = gx_is_v3() ? 8 : 4, fn = gx_is_v3() ? half : plain;
	}
	gx_parallel(threads, threads, 1, fn, out);
	return 2.0 * SUMS * STEPS * lanes * threads;
}

#pragma GCC push_options
#pragma GCC target("avx512f,amx-tile,amx-bf16")
#include <immintrin.h>

static void tiles(const void *arg, int64_t begin, int64_t end) {
	struct {
		uint8_t palette, start, zeros[14];
		uint16_t bytes[16];
		uint8_t rows[16];
	} __attribute__((aligned(64))) shape = {.palette = 1};
	for (int k = 0; k < 8; k++) shape.bytes[k] = 64, shape.rows[k] = 16;
	for (int64_t t = begin; t < end; t++) {
		__asm__ volatile("ldtilecfg %0" ::"m"(shape) : "memory");
		_tile_zero(0);
		_tile_zero(1);
		_tile_zero(2);
		_tile_zero(3);
		_tile_zero(4);
		_tile_zero(5);
		_tile_zero(6);
		_tile_zero(7);
		for (int i = 0; i < STEPS / 16; i++) {
			_tile_dpbf16ps(0, 4, 6);
			_tile_dpbf16ps(1, 4, 7);
			_tile_dpbf16ps(2, 5, 6);
			_tile_dpbf16ps(3, 5, 7);
		}
		_tile_release();
	}
}
#pragma GCC pop_options

// amx_allowed asks the system once for the state of tiles.
static int amx_allowed(void) {
	enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, TILE = 1 << 24, BF16 = 1 << 22 };
	unsigned a, b, c, d;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & TILE) || !(d & BF16)) return 0;
	return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

double gx_rate_amx(int threads) {
	if (!amx_allowed()) return 0;
	gx_parallel(threads, threads, 1, tiles, 0);
	return 2.0 * 16 * 16 * 32 * 4 * (STEPS / 16) * threads;
}
#else
FMA(plain, 16, )

double gx_rate_fma(int threads) {
	float out[THREADS] = {0};
	threads = gx_min(threads, THREADS);
	gx_parallel(threads, threads, 1, plain, out);
	return 2.0 * SUMS * STEPS * 4 * threads;
}

double gx_rate_amx(int threads) { return 0; }
#endif
