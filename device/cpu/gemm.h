// Matrix products in our own code, where they are faster than oneDNN's.
#ifndef GX_GEMM_H
#define GX_GEMM_H

#include "product.h"

// gx_gemm_fits reports whether gx_gemm_run is the faster way to compute a product, or one with a
// bias, on this processor.
int gx_gemm_fits(const gx_gemm *g, int bias);

// gx_gemm_can reports whether this processor can run the functions below. Where it cannot, none of
// them may be called.
int gx_gemm_can(void);

// gx_gemm_run computes C = alpha * op(A) * op(B) + beta * C + bias, a row that may be null.
void gx_gemm_run(float *c, const float *a, const float *b, const float *bias, const gx_gemm *g,
	int threads);

// gx_packed_size is the number of floats of op(B) in the order in which products read it.
int64_t gx_packed_size(const gx_gemm *g);
void gx_pack(float *d, const float *b, const gx_gemm *g, int threads);

// gx_packed_gemm is gx_gemm_run with a packed B, for one that is used many times.
void gx_packed_gemm(float *c, const float *a, const float *packed, const float *bias,
	const gx_gemm *g, int threads);

// gx_packed_gemm_part computes one thread's part of C = alpha * A * op(B) + beta * C with a packed
// B; the parts together are the product. Threads share the last columns as they come: taken is zero
// before the first begins.
void gx_packed_gemm_part(float *c, const float *a, const float *packed, const gx_gemm *g, int part,
	int parts, int64_t *taken);

// gx_packed_gemm_alone computes the whole on the calling thread, which may be one of a team.
void gx_packed_gemm_alone(float *c, const float *a, const float *packed, const gx_gemm *g);

#endif
