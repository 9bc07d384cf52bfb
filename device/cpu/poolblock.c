#include "poolblock.h"

#include "gx.h"

enum { W = GX_LANES };

#define INLINE static inline __attribute__((always_inline))

typedef struct {
	float *dx;
	const float *dy, *x, *y;
	const gx_pool *p;
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
INLINE void award(const gx_pool *p, box b, float *dx, const float *x, gx_v16 g, gx_v16 y) {
	gx_i16 left = (gx_i16){} - 1; // channels whose gradient is still to be given away
	for (int64_t d = b.d.begin; d < b.d.end; d++)
		for (int64_t h = b.h.begin; h < b.h.end; h++) {
			int64_t row = (d * p->in[1] + h) * p->in[2];
			for (int64_t w = b.w.begin; w < b.w.end; w++) {
				float *to = dx + (row + w) * W;
				gx_i16 hit = left & (gx_i16)(GX_AT(x + (row + w) * W) == y);
				GX_AT(to) += (gx_v16)((gx_i16)g & hit);
				left &= ~hit;
			}
		}
}

GX_CLONES static void backward_plane(const job *j, int64_t plane) {
	const gx_pool *p = j->p;
	int64_t in = p->in[0] * p->in[1] * p->in[2] * W, out = p->out[0] * p->out[1] * p->out[2] * W;
	float *dx = j->dx + plane * in;
	const float *x = j->x + plane * in, *dy = j->dy + plane * out, *y = j->y + plane * out;
	memset(dx, 0, (size_t)in * sizeof(float));
	for (int64_t d = 0; d < p->out[0]; d++)
		for (int64_t h = 0; h < p->out[1]; h++)
			for (int64_t w = 0; w < p->out[2]; w++, dy += W, y += W) {
				box b = {window(p, 0, d), window(p, 1, h), window(p, 2, w)};
				gx_v16 g = GX_AT(dy);
				if (p->type == GX_POOL_MAX) {
					award(p, b, dx, x, g, GX_AT(y));
					continue;
				}
				int64_t n = b.d.count * b.h.count * b.w.count;
				if (p->type == GX_POOL_AVG && n > 0) g /= (float)n;
				share(p, b, dx, g);
			}
}

static void backward_planes(const void *arg, int64_t begin, int64_t end) {
	for (int64_t i = begin; i < end; i++) backward_plane(arg, i);
}

void gx_pool_block_backward(float *dx, const float *dy, const float *x, const float *y,
	const gx_pool *p, int threads) {
	job j = {dx, dy, x, y, p};
	gx_parallel(threads, p->planes, 1, backward_planes, &j);
}
