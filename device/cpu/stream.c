#include "gx.h"

#if defined(__x86_64__)
#include <immintrin.h>

// lines16 and lines64 copy n elements, full cache lines of d.
static void lines16(float *d, const float *s, int64_t n) {
	for (int64_t i = 0; i < n; i += 4) _mm_stream_ps(d + i, _mm_loadu_ps(s + i));
}

__attribute__((target("avx512f"))) static void lines64(float *d, const float *s, int64_t n) {
	for (int64_t i = 0; i < n; i += 16) _mm512_stream_ps(d + i, _mm512_loadu_ps(s + i));
}

void gx_stream(float *d, const float *s, int64_t n) {
	int64_t head = gx_min(n, (int64_t)(-(uintptr_t)d / sizeof(float) % 16)), lines = (n - head) / 16 * 16, rest = head + lines;
	memcpy(d, s, (size_t)head * sizeof(float));
	if (__builtin_cpu_supports("avx512f"))
		lines64(d + head, s + head, lines);
	else
		lines16(d + head, s + head, lines);
	memcpy(d + rest, s + rest, (size_t)(n - rest) * sizeof(float));
}

void gx_streamed(void) { _mm_sfence(); }
#else
void gx_stream(float *d, const float *s, int64_t n) { memcpy(d, s, (size_t)n * sizeof(float)); }

void gx_streamed(void) {}
#endif
