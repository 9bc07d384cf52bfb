// Steps of an LSTM whose states are rounded to integers of 8 bits before they are multiplied.
#ifndef GX_BYTELSTM_H
#define GX_BYTELSTM_H

#include <stdint.h>

// gx_bytelstm describes layers of dirs directions, side by side, of which the first goes back if
// back is set, and the second one does. n is at most GX_BYTELSTM_MOST.
typedef struct {
	int64_t steps, batch, n, dirs;
	int32_t back;
} gx_bytelstm;

enum { GX_BYTELSTM_MOST = 1 << 16 };

// gx_bytelstm_arrays has the operands: x (steps, batch, dirs, 4, n), products of the inputs with the
// gates i, f, g, o; codes (dirs, 4, n, n) and scale (dirs, 4, n), weights of states; h0, c0 and
// outputs h, c (dirs, batch, n); y (steps, batch, dirs, n). Outputs may be null.
typedef struct {
	const float *x, *scale, *h0, *c0;
	const int8_t *codes;
	float *y, *h, *c;
} gx_bytelstm_arrays;

// gx_bytelstm_scratch is the size in bytes of the memory that a run wants, aligned to 64.
int64_t gx_bytelstm_scratch(const gx_bytelstm *l);

// gx_bytelstm_run goes through all steps. A step rounds the state h of a direction to integers of 8
// bits of its range, zero included, as float32 arithmetic gives them; sums of products are exact.
void gx_bytelstm_run(const gx_bytelstm *l, const gx_bytelstm_arrays *a, void *scratch, int threads);

#endif
