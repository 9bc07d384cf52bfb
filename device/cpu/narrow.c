#include "narrow.h"

GX_CLONES void gx_bf16_widen(float *d, const uint16_t *s, int64_t n) {
	GX_EACH(i, 0, n) d[i] = gx_bf16_float(s[i]);
}

GX_CLONES void gx_bf16_narrow(uint16_t *d, const float *s, int64_t n) {
	GX_EACH(i, 0, n) d[i] = gx_float_bf16(s[i]);
}

GX_CLONES void gx_bf16_round(float *d, int64_t n) {
	GX_EACH(i, 0, n) d[i] = gx_bf16_float(gx_float_bf16(d[i]));
}

typedef struct {
	uint16_t *d;
	const uint16_t *s;
	int64_t rows, cols;
} sum_job;

// sum_range adds up columns [begin, end), COLS at a time and some rows before they join the total.
GX_CLONES static void sum_range(const void *arg, int64_t begin, int64_t end) {
	enum { COLS = 64, ROWS = 64 };
	const sum_job *j = arg;
	for (int64_t c = begin; c < end; c += COLS) {
		int w = (int)gx_min(COLS, end - c);
		float total[COLS] = {0};
		for (int64_t first = 0; first < j->rows; first += ROWS) {
			float sum[COLS] = {0};
			for (int64_t r = first; r < gx_min(j->rows, first + ROWS); r++) {
				const uint16_t *s = j->s + r * j->cols + c;
				if (w == COLS)
					for (int k = 0; k < COLS; k++) sum[k] += gx_bf16_float(s[k]);
				else
					for (int k = 0; k < w; k++) sum[k] += gx_bf16_float(s[k]);
			}
			for (int k = 0; k < COLS; k++) total[k] += sum[k];
		}
		for (int k = 0; k < w; k++) j->d[c + k] = gx_float_bf16(total[k]);
	}
}

void gx_bf16_sum_rows(uint16_t *d, const uint16_t *s, int64_t rows, int64_t cols, int threads) {
	sum_job j = {d, s, rows, cols};
	gx_parallel(threads, cols, 64, sum_range, &j);
}
