// The library of products for the driver beside this file: libcublas.so.12 for tests, with the four functions that the bridge calls. Matrices lie columns
// first, as the real one wants them.

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

namespace {

void (*put)(void *, void (*)(void *), void *);
void *(*host)(void *);

struct Handle {
	void *stream;
};

float half_to_float(uint16_t h) {
	int exp = h >> 10 & 31, frac = h & 1023;
	float v = exp == 31 ? (frac ? NAN : INFINITY) : exp ? ldexpf(1024 + frac, exp - 25) : ldexpf(frac, -24);
	return h & 0x8000 ? -v : v;
}
uint16_t float_to_half(float f) {
	uint32_t b;
	memcpy(&b, &f, 4);
	uint32_t sign = b >> 16 & 0x8000, abs = b & 0x7fffffff;
	if (abs > 0x7f800000) return sign | 0x7e00;
	if (abs >= 0x47800000) return sign | 0x7c00;
	float mag;
	memcpy(&mag, &abs, 4);
	if (abs < 0x38800000) return sign | (uint16_t)rintf(mag * 16777216.0f);
	abs += 0xfff + (abs >> 13 & 1);
	return sign | (abs - 0x38000000) >> 13;
}

double load(const void *p, int type, long long i) {
	switch (type) {
	case 0: return ((const float *)p)[i];
	case 1: return ((const double *)p)[i];
	case 2: return half_to_float(((const uint16_t *)p)[i]);
	}
	uint32_t b = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;
	memcpy(&f, &b, 4);
	return f;
}

void store(void *p, int type, long long i, double v) {
	switch (type) {
	case 0: ((float *)p)[i] = (float)v; return;
	case 1: ((double *)p)[i] = v; return;
	case 2: ((uint16_t *)p)[i] = float_to_half((float)v); return;
	}
	float f = (float)v;
	uint32_t b;
	memcpy(&b, &f, 4);
	((uint16_t *)p)[i] = (b + 0x7fff + (b >> 16 & 1)) >> 16;
}

struct Gemm {
	int ta, tb, m, n, k, type, lda, ldb, ldc, batch;
	long long sa, sb, sc;
	double alpha, beta;
	const void *a, *b;
	void *c;
};

void run(void *arg) {
	Gemm *g = (Gemm *)arg;
	const void *a = host((void *)g->a), *b = host((void *)g->b);
	void *c = host(g->c);
	for (int x = 0; x < g->batch; x++)
		for (int j = 0; j < g->n; j++)
			for (int i = 0; i < g->m; i++) {
				double sum = 0;
				for (int l = 0; l < g->k; l++) {
					long long ia = g->ta ? l + (long long)i * g->lda : i + (long long)l * g->lda;
					long long ib = g->tb ? j + (long long)l * g->ldb : l + (long long)j * g->ldb;
					sum += load(a, g->type, x * g->sa + ia) * load(b, g->type, x * g->sb + ib);
				}
				long long o = x * g->sc + i + (long long)j * g->ldc;
				store(c, g->type, o, g->alpha * sum + (g->beta != 0 ? g->beta * load(c, g->type, o) : 0));
			}
	delete g;
}

} // namespace

extern "C" {

int cublasCreate_v2(void **h) {
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver) return 1;
	put = (void (*)(void *, void (*)(void *), void *))dlsym(driver, "gx_fake_put");
	host = (void *(*)(void *))dlsym(driver, "gx_fake_host");
	*h = new Handle{nullptr};
	return put && host ? 0 : 1;
}
int cublasSetStream_v2(void *h, void *stream) {
	((Handle *)h)->stream = stream;
	return 0;
}
int cublasSetMathMode(void *, int mode) { return mode == 0 || mode == 3 ? 0 : 7; }

int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int ta_, int lda, long long sa, const void *b,
                               int tb_, int ldb, long long sb, const void *beta, void *c, int tc_, int ldc, long long sc, int batch, int compute, int) {
	if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m || m < 0 || n < 0 || k < 0) return 7;
	if (ta_ != tb_ || ta_ != tc_ || compute != (ta_ == 1 ? 70 : 68)) return 15;
	Gemm *g = new Gemm{ta, tb, m, n, k, ta_, lda, ldb, ldc, batch, sa, sb, sc, 0, 0, a, b, c};
	g->alpha = compute == 70 ? *(const double *)alpha : *(const float *)alpha;
	g->beta = compute == 70 ? *(const double *)beta : *(const float *)beta;
	put(((Handle *)h)->stream, run, g);
	return 0;
}

} // extern "C"
