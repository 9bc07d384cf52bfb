// Sums of a tile of pixels and outputs in registers, for byteconv.c.

// A tile has ROWS pixels; sums of CHUNK pixels are kept until they are finished.
enum { ROWS = 6, CHUNK = 48 };

typedef struct {
	const gx_byteplan *p;
	const int64_t *offsets; // of runs, or of depthwise taps, from the first number of a pixel
	const int8_t *w;        // packed weights of a block
} part;

INLINE __m256i wide_weights(const int8_t *w) {
	return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
}

// tile computes the sums of rows pixels and 8 * vectors outputs, both constants at every call.
INLINE void tile(int32_t *sums, const part *t, const int16_t *const *pixels, int rows,
	int vectors) {
	__m256i s[ROWS][2];
	int64_t runs = t->p->runs, pairs = t->p->pairs;
	const int8_t *w = t->w;
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = _mm256_setzero_si256();
	for (int64_t r = 0; r < runs; r++) {
		const int16_t *x[ROWS];
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) x[i] = pixels[i] + t->offsets[r];
		for (int64_t k = 0; k < 2 * pairs; k += 2, w += 16 * vectors) {
			__m256i a = wide_weights(w), b = vectors == 2 ? wide_weights(w + 16) : a;
#pragma GCC unroll 6
			for (int i = 0; i < rows; i++) {
				int32_t pair;
				memcpy(&pair, x[i] + k, sizeof pair);
				__m256i v = _mm256_set1_epi32(pair);
				s[i][0] = _mm256_add_epi32(s[i][0], _mm256_madd_epi16(v, a));
				if (vectors == 2) s[i][1] = _mm256_add_epi32(s[i][1], _mm256_madd_epi16(v, b));
			}
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		_mm256_storeu_si256((__m256i *)(sums + i * GX_BLOCK), s[i][0]);
		if (vectors == 2) _mm256_storeu_si256((__m256i *)(sums + i * GX_BLOCK + 8), s[i][1]);
	}
}

// apart computes rows pixels of sixteen channels that are groups of their own.
INLINE void apart(int32_t *sums, const part *t, const int16_t *const *pixels, int rows) {
	__m256i s[ROWS][2];
	const int8_t *w = t->w;
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = _mm256_setzero_si256();
	for (int64_t k = 0; k < 2 * t->p->pairs; k += 2, w += 32) {
		__m256i a = wide_weights(w), b = wide_weights(w + 16);
		int64_t first = t->offsets[k], second = t->offsets[k + 1];
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			__m256i x = _mm256_loadu_si256((const __m256i *)(pixels[i] + first));
			__m256i y = _mm256_loadu_si256((const __m256i *)(pixels[i] + second));
			__m256i lo = _mm256_unpacklo_epi16(x, y), hi = _mm256_unpackhi_epi16(x, y);
			s[i][0] = _mm256_add_epi32(s[i][0], _mm256_madd_epi16(lo, a));
			s[i][1] = _mm256_add_epi32(s[i][1], _mm256_madd_epi16(hi, b));
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		int32_t *d = sums + i * GX_BLOCK;
		_mm256_storeu_si256((__m256i *)d, _mm256_permute2x128_si256(s[i][0], s[i][1], 0x20));
		_mm256_storeu_si256((__m256i *)(d + 8), _mm256_permute2x128_si256(s[i][0], s[i][1], 0x31));
	}
}

V3 static void one_tile(int32_t *sums, const part *t, const int16_t *const *pixels, int64_t rows,
	int64_t vectors) {
#define CASE(r) \
	case r: tile(sums, t, pixels, r, 1); return; \
	case 8 + r: tile(sums, t, pixels, r, 2); return; \
	case 16 + r: apart(sums, t, pixels, r); return;
	switch (rows + (t->p->depthwise ? 16 : 8 * (vectors - 1))) {
		CASE(1)
		CASE(2)
		CASE(3)
		CASE(4)
		CASE(5)
		CASE(6)
	}
#undef CASE
}
