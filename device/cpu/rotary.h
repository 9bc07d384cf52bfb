// Rotary embeddings: pairs of elements that are turned by angles that grow with the position.
#ifndef GX_ROTARY_H
#define GX_ROTARY_H

#include <stdint.h>

enum { GX_ROTARY_PAIRS = 512 }; // most pairs of a head

// gx_rotary describes an array of outer x length x heads x 2*pairs elements.
typedef struct {
	int64_t outer, length, heads, pairs, offset;
	int64_t share;       // sequences outer that have one entry of positions
	int32_t interleaved; // a pair is side by side; otherwise pairs elements apart
	int32_t back;        // turn the other way
} gx_rotary;

// gx_rotary_run turns pair i at step t of a sequence by (offset + position + t) * rate[i]; position
// is null for none. y may be x.
void gx_rotary_run(float *y, const float *x, const int32_t *position, const double *rate,
	const gx_rotary *p, int threads);

#endif
