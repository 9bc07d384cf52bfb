#include "gx.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WIDE __attribute__((target("avx512f")))

// lines16 and lines64 copy n bytes, full cache lines of d, past the caches.
static void lines16(char *d, const char *s, size_t n) {
	for (size_t i = 0; i < n; i += 16)
		_mm_stream_ps((float *)(d + i), _mm_loadu_ps((const float *)(s + i)));
}

WIDE static void lines64(char *d, const char *s, size_t n) {
	for (size_t i = 0; i < n; i += 64) _mm512_stream_ps((float *)(d + i), _mm512_loadu_ps(s + i));
}

// bytes64 copies n >= 64 bytes; the last vector overlaps the one before.
WIDE static void bytes64(char *d, const char *s, size_t n) {
	size_t i = 0;
	for (; i + 256 <= n; i += 256) {
		__m512 a = _mm512_loadu_ps(s + i), b = _mm512_loadu_ps(s + i + 64),
			c = _mm512_loadu_ps(s + i + 128), e = _mm512_loadu_ps(s + i + 192);
		_mm512_storeu_ps(d + i, a);
		_mm512_storeu_ps(d + i + 64, b);
		_mm512_storeu_ps(d + i + 128, c);
		_mm512_storeu_ps(d + i + 192, e);
	}
	for (; i + 64 <= n; i += 64) _mm512_storeu_ps(d + i, _mm512_loadu_ps(s + i));
	if (i < n) _mm512_storeu_ps(d + n - 64, _mm512_loadu_ps(s + n - 64));
}

void gx_copy(void *d, const void *s, size_t n) {
	if (n >= 64 && __builtin_cpu_supports("avx512f"))
		bytes64(d, s, n);
	else
		memcpy(d, s, n);
}

void gx_copy_past(void *d, const void *s, size_t n) {
	size_t head = -(uintptr_t)d % 64;
	if (head > n) head = n;
	size_t lines = (n - head) / 64 * 64, rest = head + lines;
	memcpy(d, s, head);
	if (__builtin_cpu_supports("avx512f"))
		lines64((char *)d + head, (const char *)s + head, lines);
	else
		lines16((char *)d + head, (const char *)s + head, lines);
	memcpy((char *)d + rest, (const char *)s + rest, n - rest);
}

void gx_streamed(void) { _mm_sfence(); }
#else
void gx_copy(void *d, const void *s, size_t n) { memcpy(d, s, n); }

void gx_copy_past(void *d, const void *s, size_t n) { memcpy(d, s, n); }

void gx_streamed(void) {}
#endif

void gx_stream(float *d, const float *s, int64_t n) {
	gx_copy_past(d, s, (size_t)n * sizeof(float));
}
