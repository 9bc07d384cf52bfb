#include "product.h"

#include "gemm.h"
#include "gx.h"

#include <dnnl.h>
#include <omp.h>

// The library copies operands to aligned memory. Those of fewer elements leave small gaps only.
enum { PACKED = 1 << 16 };

// sgemm computes a product with the threads for which the calling one is ready.
static int sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int threads) {
	if (g->m == 0 || g->n == 0) return 0;
	if (g->k == 0) { // the library leaves C alone here
		for (int64_t i = 0; i < g->m; i++)
			for (int64_t j = 0; j < g->n; j++)
				c[i * g->ldc + j] = g->beta == 0.0f ? 0.0f : g->beta * c[i * g->ldc + j];
		return 0;
	}
	if (gx_gemm_fits(g, 0)) {
		gx_gemm_run(c, a, b, 0, g, threads);
		return 0;
	}
	if ((g->m + g->n) * g->k >= PACKED) gx_close_gaps(threads);
	return (int)dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, g->alpha, a,
		g->lda, b, g->ldb, g->beta, c, g->ldc);
}

int gx_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int threads) {
	gx_team(threads);
	return sgemm(c, a, b, g, threads);
}

int gx_sgemm_alone(float *c, const float *a, const float *b, const gx_gemm *g) {
	omp_set_num_threads(1);
	return sgemm(c, a, b, g, 1);
}

typedef struct {
	float *c;
	const float *a, *b;
	const gx_gemm *g;
	int threads; // of one product
	int64_t inner;
	gx_step sa, sb, sc;
	int *err;
} job;

static int64_t offset(gx_step s, const job *j, int64_t i) {
	return i / j->inner * s.outer + i % j->inner * s.inner;
}

static void grid_range(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t i = begin; i < end; i++) {
		int err = sgemm(j->c + offset(j->sc, j, i), j->a + offset(j->sa, j, i),
			j->b + offset(j->sb, j, i), j->g, j->threads);
		if (err) *j->err = err;
	}
}

int gx_grid_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int64_t outer,
	int64_t inner, gx_step sa, gx_step sb, gx_step sc, int threads) {
	int err = 0;
	int64_t count = outer * inner;
	job j = {c, a, b, g, threads, inner, sa, sb, sc, &err};
	// Many small products run side by side, few large ones one after the other.
	if (count >= 2 * threads) {
		omp_set_num_threads(1);
		j.threads = 1;
		gx_parallel(threads, count, 1, grid_range, &j);
	} else {
		gx_team(threads);
		grid_range(&j, 0, count);
	}
	return err;
}

int gx_batch_sgemm(float *c, const float *a, const float *b, const gx_gemm *g, int64_t count,
	int64_t sa, int64_t sb, int64_t sc, int threads) {
	if (count == 0) return 0;
	return gx_grid_sgemm(c, a, b, g, 1, count, (gx_step){sa, 0}, (gx_step){sb, 0}, (gx_step){sc, 0},
		threads);
}

int gx_dense(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t in,
	int64_t out, int threads) {
	gx_gemm g = {rows, out, in, in, in, out, 1.0f, bias ? 1.0f : 0.0f, 0, 1};
	if (in > 0 && gx_gemm_fits(&g, bias != 0)) {
		g.beta = 0.0f;
		gx_gemm_run(y, x, w, bias, &g, threads);
		return 0;
	}
	if (bias)
		for (int64_t r = 0; r < rows; r++) memcpy(y + r * out, bias, (size_t)out * sizeof(float));
	return gx_sgemm(y, x, w, &g, threads);
}
