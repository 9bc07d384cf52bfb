// An imitated cuBLAS for the imitated driver (driver.cc): libcublas.so.12 for tests, with the four
// functions that the bridge calls. Matrices are stored column by column, as in cuBLAS.

#include "gemm.h"

namespace {

struct Handle {
	void *stream;
};

} // namespace

extern "C" {

int cublasCreate_v2(void **h) {
	if (!open_driver()) return 1;
	if (recording()) return 14; // a handle allocates memory, which a recording must not
	*h = new Handle{nullptr};
	return 0;
}
int cublasSetStream_v2(void *h, void *stream) {
	((Handle *)h)->stream = stream;
	return 0;
}
// Bit 4 keeps sums of 16-bit numbers in float32; a program that wants our sums must set it.
int cublasSetMathMode(void *, int mode) { return mode == 16 || mode == 19 ? 0 : 7; }
int cublasSetWorkspace_v2(void *, void *space, size_t bytes) {
	return (uintptr_t)space % 256 || bytes < 4 << 20 ? 7 : 0;
}

int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
	const void *a, int ta_, int lda, long long sa, const void *b,
                               int tb_, int ldb, long long sb, const void *beta, void *c, int tc_,
	int ldc, long long sc, int batch, int compute, int) {
	if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m || m < 0 || n < 0 || k < 0) return 7;
	if (ta_ != tb_ || ta_ != tc_ || compute != (ta_ == 1 ? 70 : 68)) return 15;
	Gemm g = {ta, tb, m, n, k, ta_, lda, ldb, ldc, batch, sa, sb, sc, 0, 0, a, b, c, nullptr,
		false};
	g.alpha = compute == 70 ? *(const double *)alpha : *(const float *)alpha;
	g.beta = compute == 70 ? *(const double *)beta : *(const float *)beta;
	put(((Handle *)h)->stream, run, &g, sizeof g);
	return 0;
}

} // extern "C"
