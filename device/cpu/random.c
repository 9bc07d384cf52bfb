#include "random.h"

#pragma GCC optimize("fp-contract=off")

#include "gxmath.h"
#include "philox.h"

typedef struct {
	float *d;
	uint8_t *mask;
	const float *x;
	gx_seed seed;
	int64_t n;
	double low, width;
	float limit, below, scale;
	uint32_t keep; // of 2^24
} job;

// Items are groups of WORDS elements.
GX_CLONES static void uniform(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t g = begin; g < end; g++) {
		uint32_t w[WORDS];
		float v[WORDS];
		words(w, &j->seed, (uint64_t)g * BLOCKS);
		for (int i = 0; i < WORDS; i++) {
			float f = (float)(j->low + j->width * ((double)(int32_t)(w[i] >> 8) / 16777216.0));
			v[i] = f >= j->limit ? j->below : f;
		}
		memcpy(j->d + g * WORDS, v, (size_t)gx_min(WORDS, j->n - g * WORDS) * sizeof(float));
	}
}

void gx_uniform(float *d, int64_t n, const gx_seed *seed, double low, double high, float limit,
	int threads) {
	job j = {.d = d, .seed = *seed, .n = n, .low = low, .width = high - low, .limit = limit,
		.below = nextafterf(limit, (float)low)};
	if (!(low < high)) j.limit = INFINITY;
	gx_parallel(threads, (n + WORDS - 1) / WORDS, 8, uniform, &j);
}

// radius returns sqrt(-2 log u) for u = (a+1)/2^32.
static inline float radius(uint32_t a) {
	float rest = (float)~a * 2.3283064365e-10f; // 1 - u, exact where u is near one
	float w = (float)a + 1.0f;
	int32_t bits = gx_to_bits(w), k = (bits - 0x3F3504F3) >> 23;
	float m = gx_from_bits(bits - (int32_t)((uint32_t)k << 23));
	int near = rest < 0.25f;
	float l = gx_log_core(near ? -rest : m - 1.0f, near ? 0.0f : (float)(k - 32));
	return sqrtf(-2.0f * l);
}

// turn writes cos and sin of b/2^32 turns.
static inline void turn(uint32_t b, float *c, float *s) {
	uint32_t quarter = (b + 0x20000000u) >> 30;
	float x = (float)(int32_t)(b - (quarter << 30)) * 1.4629180793e-09f, z = x * x;
	float p = -1.951729904e-04f; // on a quarter around zero
	p = p * z + 8.332178147e-03f;
	p = p * z - 1.666665494e-01f;
	p = p * z * x + x;
	float q = 2.443845149e-05f;
	q = q * z - 1.388736751e-03f;
	q = q * z + 4.166664687e-02f;
	q = q * z * z - 0.5f * z + 1.0f;
	float even = quarter & 1 ? p : q, odd = quarter & 1 ? q : p;
	*c = (quarter + 1) & 2 ? -even : even;
	*s = quarter & 2 ? -odd : odd;
}

GX_CLONES static void normal(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	float loc = (float)j->low, scale = (float)j->width;
	for (int64_t g = begin; g < end; g++) {
		uint32_t w[WORDS], a[WORDS / 2], b[WORDS / 2];
		float v[WORDS], c[WORDS / 2], s[WORDS / 2];
		words(w, &j->seed, (uint64_t)g * BLOCKS);
		for (int i = 0; i < WORDS / 2; i++) a[i] = w[2 * i], b[i] = w[2 * i + 1];
		for (int i = 0; i < WORDS / 2; i++) {
			float r = radius(a[i]), x, y;
			turn(b[i], &x, &y);
			c[i] = loc + scale * (r * x);
			s[i] = loc + scale * (r * y);
		}
		for (int i = 0; i < WORDS / 2; i++) v[2 * i] = c[i], v[2 * i + 1] = s[i];
		memcpy(j->d + g * WORDS, v, (size_t)gx_min(WORDS, j->n - g * WORDS) * sizeof(float));
	}
}

void gx_normal(float *d, int64_t n, const gx_seed *seed, double loc, double scale, int threads) {
	job j = {.d = d, .seed = *seed, .n = n, .low = loc, .width = scale};
	gx_parallel(threads, (n + WORDS - 1) / WORDS, 8, normal, &j);
}

GX_CLONES static void dropout(const void *arg, int64_t begin, int64_t end) {
	const job *j = arg;
	for (int64_t g = begin; g < end; g++) {
		uint32_t w[WORDS];
		uint8_t kept[WORDS];
		int64_t at = g * WORDS, n = gx_min(WORDS, j->n - at);
		words(w, &j->seed, (uint64_t)g * BLOCKS);
		for (int i = 0; i < WORDS; i++) kept[i] = w[i] >> 8 < j->keep;
		if (j->mask) memcpy(j->mask + at, kept, (size_t)n);
		if (!j->d) continue;
		float *d = j->d + at;
		const float *x = j->x + at;
		GX_EACH(i, 0, n) {
			const float v = x[i] * j->scale;
			d[i] = w[i] >> 8 < j->keep ? v : 0.0f;
		}
	}
}

void gx_dropout(float *d, uint8_t *mask, const float *x, int64_t n, const gx_seed *seed,
	double keep, int threads) {
	job j = {.d = d, .mask = mask, .x = x, .seed = *seed, .n = n, .scale = (float)(1.0 / keep),
		.keep = (uint32_t)ceil(keep * 16777216.0)};
	gx_parallel(threads, (n + WORDS - 1) / WORDS, 8, dropout, &j);
}
