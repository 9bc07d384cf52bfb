// Sums over rows in COLS interleaved parts, which join pairwise. Include it after switching fused
// operations off.
#ifndef GX_ROWS_H
#define GX_ROWS_H

#include "gx.h"

enum { COLS = 64 };

#define GX_MAYBE __attribute__((unused))

#define JOIN(part) \
	for (int w = COLS / 2; w > 0; w /= 2) \
		for (int k = 0; k < w; k++) part[k] += part[k + w]

GX_CLONES GX_MAYBE static float sum_row(const float *x, int64_t n) {
	float part[COLS] = {0};
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		for (int k = 0; k < COLS; k++) part[k] += x[i + k];
	for (int k = 0; k < (int)(n - i); k++) part[k] += x[i + k];
	JOIN(part);
	return part[0];
}

GX_CLONES GX_MAYBE static float square_row(const float *x, int64_t n, float m) {
	float part[COLS] = {0};
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		for (int k = 0; k < COLS; k++) part[k] += (x[i + k] - m) * (x[i + k] - m);
	for (int k = 0; k < (int)(n - i); k++) part[k] += (x[i + k] - m) * (x[i + k] - m);
	JOIN(part);
	return part[0];
}

// dot_row returns the sum of dy*(x-m).
GX_CLONES GX_MAYBE static float dot_row(const float *dy, const float *x, int64_t n, float m) {
	float part[COLS] = {0};
	int64_t i = 0;
	for (; i + COLS <= n; i += COLS)
		for (int k = 0; k < COLS; k++) part[k] += dy[i + k] * (x[i + k] - m);
	for (int k = 0; k < (int)(n - i); k++) part[k] += dy[i + k] * (x[i + k] - m);
	JOIN(part);
	return part[0];
}

GX_CLONES GX_MAYBE static void affine_row(float *d, const float *x, int64_t n, float a, float m,
	float b) {
	GX_EACH(i, 0, n) d[i] = (x[i] - m) * a + b;
}

#endif
