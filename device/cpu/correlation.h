// Comparison of the patches of two feature maps.
#ifndef GX_CORRELATION_H
#define GX_CORRELATION_H

#include <stdint.h>

// gx_correlation describes padded planes of h rows and w columns, and outputs of oh rows and ow
// columns for side² displacements, step elements apart. Patches have size rows and columns and begin
// border elements within the planes; those of neighbouring outputs are stride elements apart.
typedef struct {
	int64_t batch, channels, h, w, oh, ow, side, step, size, border, stride, difference;
} gx_correlation;

// gx_correlate writes the means of products, or of sizes of differences, of padded planes a and b.
void gx_correlate(float *y, const float *a, const float *b, const gx_correlation *p, int threads);

// gx_correlate_back adds the gradients of the padded planes to da and db.
void gx_correlate_back(float *da, float *db, const float *dy, const float *a, const float *b,
	const gx_correlation *p, int threads);

#endif
