// Products of matrices for the imitated libraries. Matrices are stored column by column.

#pragma once
#include "library.h"

namespace {

struct Gemm {
	int ta, tb, m, n, k, type, lda, ldb, ldc, batch;
	long long sa, sb, sc;
	double alpha, beta;
	const void *a, *b;
	void *c;
	void *bias; // is added to each column, or gets the sums of the rows of b; 0: none
	bool sums;
};

double at_b(const Gemm *g, const void *b, int x, int l, int j) {
	long long i = g->tb ? j + (long long)l * g->ldb : l + (long long)j * g->ldb;
	return load(b, g->type, x * g->sb + i);
}

void run(const void *arg) {
	const Gemm *g = (const Gemm *)arg;
	const void *a = host((void *)g->a), *b = host((void *)g->b);
	void *c = host(g->c), *bias = g->bias ? host(g->bias) : nullptr;
	for (int x = 0; x < g->batch; x++)
		for (int j = 0; j < g->n; j++)
			for (int i = 0; i < g->m; i++) {
				double sum = 0;
				for (int l = 0; l < g->k; l++) {
					long long ia = g->ta ? l + (long long)i * g->lda : i + (long long)l * g->lda;
					sum += load(a, g->type, x * g->sa + ia) * at_b(g, b, x, l, j);
				}
				long long o = x * g->sc + i + (long long)j * g->ldc;
				store(c, g->type, o, g->alpha * sum +
					(g->beta != 0 ? g->beta * load(c, g->type, o) : 0) +
					(bias && !g->sums ? load(bias, g->type, i) : 0));
			}
	for (int j = 0; bias && g->sums && j < g->n; j++) {
		double sum = 0;
		for (int l = 0; l < g->k; l++) sum += at_b(g, b, 0, l, j);
		store(bias, g->type, j, sum);
	}
}

} // namespace
