// An imitated cuBLASLt for the imitated driver (driver.cc): libcublasLt.so.12 for tests. It has one
// algorithm per product, which is refused for other products, and declines gradients of the biases of
// a single row.

#include "gemm.h"

namespace {

struct Product {
	int compute = 0, ta = 0, tb = 0;
	uint32_t epilogue = 1;
	void *bias = nullptr;
};
struct Layout {
	int type;
	uint64_t rows, cols;
	int64_t ld;
};
struct Wish {
	uint64_t bytes = 0;
	uint32_t reductions = 7, aligned = 256;
};
struct Choice {
	uint64_t algo[8];
	size_t bytes;
	int state;
	float waves;
	int reserved[4];
};

const int invalid = 7, unsupported = 15;

template <class E> int take(E *to, const void *from, size_t n) {
	if (n != sizeof *to) return invalid;
	memcpy(to, from, n);
	return 0;
}

// number identifies a product for its algorithm.
uint64_t number(const Product &p, const Layout &a, const Layout &b, const Layout &d) {
	uint64_t h = p.compute * 31 + p.epilogue + p.ta * 7 + p.tb * 5;
	const Layout *all[] = {&a, &b, &d};
	for (const Layout *l : all)
		h = h * 1099511628211 + l->rows * 65537 + l->cols * 257 + l->ld + l->type;
	return h | 1;
}

// fits reports whether descriptions belong together.
bool fits(const Product &p, const Layout &a, const Layout &b, const Layout &d) {
	uint64_t m = p.ta ? a.cols : a.rows, k = p.ta ? a.rows : a.cols, n = p.tb ? b.rows : b.cols,
		bk = p.tb ? b.cols : b.rows;
	bool types = a.type == b.type && a.type == d.type && a.type != 1 &&
		(p.compute == 68 || (p.compute == 77 && a.type == 0));
	return types && k == bk && d.rows == m && d.cols == n && a.ld >= (int64_t)a.rows &&
		b.ld >= (int64_t)b.rows && d.ld >= (int64_t)m && p.bias &&
		(p.epilogue == 4 || p.epilogue == 512);
}

} // namespace

extern "C" {

int cublasLtCreate(void **h) {
	if (!open_driver()) return 1;
	if (recording()) return 14;
	*h = new int;
	return 0;
}
int cublasLtMatmulDescCreate(void **d, int compute, int scale) {
	if (scale != 0) return unsupported;
	Product *p = new Product;
	p->compute = compute;
	*d = p;
	return 0;
}
int cublasLtMatmulDescSetAttribute(void *d, int what, const void *v, size_t n) {
	Product *p = (Product *)d;
	switch (what) {
	case 3: return take(&p->ta, v, n);
	case 4: return take(&p->tb, v, n);
	case 7: return take(&p->epilogue, v, n);
	case 8: return take(&p->bias, v, n);
	}
	return invalid;
}
int cublasLtMatmulDescDestroy(void *d) {
	delete (Product *)d;
	return 0;
}
int cublasLtMatrixLayoutCreate(void **l, int type, uint64_t rows, uint64_t cols, int64_t ld) {
	*l = new Layout{type, rows, cols, ld};
	return 0;
}
int cublasLtMatrixLayoutDestroy(void *l) {
	delete (Layout *)l;
	return 0;
}
int cublasLtMatmulPreferenceCreate(void **w) {
	*w = new Wish;
	return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void *w, int what, const void *v, size_t n) {
	Wish *p = (Wish *)w;
	if (what == 1) return take(&p->bytes, v, n);
	if (what == 3) return take(&p->reductions, v, n);
	if (what >= 5 && what <= 8) return take(&p->aligned, v, n);
	return invalid;
}
int cublasLtMatmulPreferenceDestroy(void *w) {
	delete (Wish *)w;
	return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *, void *d, void *a, void *b, void *c, void *to, void *w,
	int most, Choice *list, int *found) {
	const Product &p = *(Product *)d;
	const Wish &wish = *(Wish *)w;
	*found = 0;
	if (c != to || most < 1 || !fits(p, *(Layout *)a, *(Layout *)b, *(Layout *)to)) return invalid;
	// Sums in place do not repeat, and arrays of a program are not always aligned to more.
	if (wish.reductions & 1 || wish.aligned != 16 || wish.bytes < 1 << 20) return invalid;
	if (p.epilogue == 512 && ((Layout *)b)->cols * p.tb + ((Layout *)b)->rows * !p.tb == 1) return 0;
	memset(list, 0, sizeof *list);
	list->algo[0] = number(p, *(Layout *)a, *(Layout *)b, *(Layout *)to);
	list->bytes = 1 << 20;
	*found = 1;
	return 0;
}
int cublasLtMatmul(void *, void *d, const void *alpha, const void *a, void *la, const void *b,
	void *lb, const void *beta, const void *c, void *lc, void *to, void *ld, const uint64_t *algo,
	void *space, size_t bytes, void *stream) {
	const Product &p = *(Product *)d;
	const Layout &x = *(Layout *)la, &y = *(Layout *)lb, &z = *(Layout *)ld;
	if (c != to || lc != ld || !fits(p, x, y, z)) return invalid;
	if (!algo || algo[0] != number(p, x, y, z)) return unsupported;
	uintptr_t all = (uintptr_t)a | (uintptr_t)b | (uintptr_t)to | (uintptr_t)p.bias;
	if (all % 16 || (uintptr_t)space % 256 || bytes < 1 << 20) return invalid;
	Gemm g = {p.ta, p.tb, (int)z.rows, (int)z.cols, (int)(p.ta ? x.rows : x.cols), x.type,
		(int)x.ld, (int)y.ld, (int)z.ld, 1, 0, 0, 0, *(const float *)alpha, *(const float *)beta, a,
		b, to, p.bias, p.epilogue == 512};
	put(stream, run, &g, sizeof g);
	return 0;
}

} // extern "C"
