#include "gx.h"

// Elements that are added up at a time: all parts and the sum stay in the first cache.
enum { PIECE = 1024 };

GX_CLONES static void add(float *d, const float *a, const float *b, int64_t n) {
	for (int64_t i = 0; i < n; i++) d[i] = a[i] + b[i];
}

GX_CLONES static void add3(float *d, const float *a, const float *b, const float *c, int64_t n) {
	for (int64_t i = 0; i < n; i++) d[i] = (a[i] + b[i]) + c[i];
}

// gx_sum_parts writes the sum of k parts of n elements to d, which may be the first part, and to out
// unless it is null, past the caches. Every addition rounds, from the first part on.
void gx_sum_parts(float *d, float *out, const float *const *parts, int k, int64_t n) {
	for (int64_t at = 0; at < n; at += PIECE) {
		int64_t m = gx_min(PIECE, n - at);
		const float *first = parts[0] + at;
		int i = 1;
		if (k == 1 && d + at != first) memcpy(d + at, first, (size_t)m * sizeof *d);
		for (; i + 1 < k; i += 2, first = d + at) add3(d + at, first, parts[i] + at, parts[i + 1] + at, m);
		if (i < k) add(d + at, first, parts[i] + at, m);
		if (out) gx_copy_past(out + at, d + at, (size_t)m * sizeof *d);
	}
	if (out) gx_streamed();
}
