#include "poolblock.h"

#include "narrow.h"

enum { W = GX_LANES };

#define INLINE static inline __attribute__((always_inline))

typedef struct {
	void *dx;
	const void *dy, *x, *y;
	const gx_pool *p;
	int narrow;
	float *scratch; // a plane of dx for each thread; floats need none
	int threads;
} job;

// range is the part of a window that lies inside the input along one axis, [begin, end), and how
// many elements count.
typedef struct {
	int64_t begin, end, count;
} range;

INLINE range window(const gx_pool *p, int a, int64_t o) {
	int64_t b = o * p->stride[a] - p->pad[a], e = gx_min(b + p->kernel[a], p->in[a] + p->pad[a]);
	range r = {gx_max(b, 0), gx_min(e, p->in[a]), 0};
	r.count = gx_max(0, p->include_pad ? e - b : r.end - r.begin);
	return r;
}

// box is one window.
typedef struct {
	range d, h, w;
} box;

// share gives g to every element of a window.
INLINE void share(const gx_pool *p, box b, float *dx, gx_v16 g) {
	for (int64_t d = b.d.begin; d < b.d.end; d++)
		for (int64_t h = b.h.begin; h < b.h.end; h++) {
			float *row = dx + (d * p->in[1] + h) * p->in[2] * W;
			for (int64_t w = b.w.begin; w < b.w.end; w++) GX_AT(row + w * W) += g;
		}
}

// award gives g to the first elements of a window that equal y.
INLINE void award(const gx_pool *p, box b, float *dx, const void *x, gx_v16 g, gx_v16 y,
	int narrow) {
	gx_i16 left = (gx_i16){} - 1; // channels whose gradient is still to be given away
	for (int64_t d = b.d.begin; d < b.d.end; d++)
		for (int64_t h = b.h.begin; h < b.h.end; h++) {
			int64_t row = (d * p->in[1] + h) * p->in[2];
			for (int64_t w = b.w.begin; w < b.w.end; w++) {
				float *to = dx + (row + w) * W;
				gx_i16 hit = left & (gx_i16)(gx_get16(x, (row + w) * W, narrow) == y);
				GX_AT(to) += (gx_v16)((gx_i16)g & hit);
				left &= ~hit;
			}
		}
}

INLINE int64_t size_of(const gx_pool *p) { return p->in[0] * p->in[1] * p->in[2] * W; }

// plane_of writes the gradient of a plane to dx.
INLINE void plane_of(const job *j, float *dx, int64_t plane, int narrow) {
	const gx_pool *p = j->p;
	int64_t at = plane * p->out[0] * p->out[1] * p->out[2] * W;
	const void *x = gx_from(j->x, plane * size_of(p), narrow);
	memset(dx, 0, (size_t)size_of(p) * sizeof(float));
	for (int64_t d = 0; d < p->out[0]; d++)
		for (int64_t h = 0; h < p->out[1]; h++)
			for (int64_t w = 0; w < p->out[2]; w++, at += W) {
				box b = {window(p, 0, d), window(p, 1, h), window(p, 2, w)};
				gx_v16 g = gx_get16(j->dy, at, narrow);
				if (p->type == GX_POOL_MAX) {
					award(p, b, dx, x, g, gx_get16(j->y, at, narrow), narrow);
					continue;
				}
				int64_t n = b.d.count * b.h.count * b.w.count;
				if (p->type == GX_POOL_AVG && n > 0) g /= (float)n;
				share(p, b, dx, g);
			}
}

GX_CLONES static void float_plane(const job *j, int64_t plane) {
	plane_of(j, (float *)j->dx + plane * size_of(j->p), plane, 0);
}

GX_CLONES static void narrow_plane(const job *j, float *dx, int64_t plane) {
	plane_of(j, dx, plane, 1);
	gx_bf16_narrow((uint16_t *)j->dx + plane * size_of(j->p), dx, size_of(j->p));
}

static void float_planes(const void *arg, int64_t begin, int64_t end) {
	for (int64_t i = begin; i < end; i++) float_plane(arg, i);
}

// An item of narrow_planes is a thread, which does every threads-th plane.
static void narrow_planes(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t t = begin; t < end; t++)
		for (int64_t i = t; i < j->p->planes; i += j->threads)
			narrow_plane(j, j->scratch + t * size_of(j->p), i);
}

void gx_pool_block_backward(void *dx, const void *dy, const void *x, const void *y,
	const gx_pool *p, int narrow, float *scratch, int threads) {
	job j = {dx, dy, x, y, p, narrow, scratch, threads};
	if (narrow)
		gx_parallel(threads, threads, 1, narrow_planes, &j);
	else
		gx_parallel(threads, p->planes, 1, float_planes, &j);
}
