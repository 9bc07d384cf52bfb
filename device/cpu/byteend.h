// From sums to outputs, for byteconv.c: as int8.h says, each step rounded by itself.

typedef struct {
	const gx_int8 *c;
	void *y;
	const void *sum;
	const float *scale, *offset;
} ending;

INLINE __m256 eight_bytes(const void *x, int type, int64_t at) {
	__m128i b = _mm_loadl_epi64((const __m128i *)((const uint8_t *)x + at));
	return _mm256_cvtepi32_ps(type == GX_INT8 ? _mm256_cvtepi8_epi32(b) : _mm256_cvtepu8_epi32(b));
}

// end8 makes eight outputs, which lie side by side from at on.
INLINE void end8(const ending *e, __m256i sums, __m256 scale, __m256 offset, int64_t at) {
	const gx_int8 *c = e->c;
	__m256 v = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums), scale), offset);
	if (c->sum_type != GX_NONE)
		v = _mm256_fmadd_ps(eight_bytes(e->sum, c->sum_type, at), _mm256_set1_ps(c->sum_step), v);
	if (c->relu) v = _mm256_max_ps(v, _mm256_setzero_ps());
	if (c->y_type == GX_FLOAT) {
		_mm256_storeu_ps((float *)e->y + at, v);
		return;
	}
	int is_signed = c->y_type == GX_INT8;
	v = _mm256_mul_ps(v, _mm256_set1_ps(c->y_scale));
	v = _mm256_max_ps(v, _mm256_set1_ps(is_signed ? -128.0f : 0.0f));
	__m256i q = _mm256_cvtps_epi32(_mm256_min_ps(v, _mm256_set1_ps(is_signed ? 127.0f : 255.0f)));
	__m128i h = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
	h = is_signed ? _mm_packs_epi16(h, h) : _mm_packus_epi16(h, h);
	_mm_storel_epi64((__m128i *)((uint8_t *)e->y + at), h);
}

// few makes n < 8 outputs of sums that are step apart; ds is the distance of their scales, 0 or 1.
V3 static void few(const ending *e, const int32_t *sums, int64_t step, int64_t n, int64_t oc,
	int64_t ds, int64_t at) {
	const gx_int8 *c = e->c;
	int size = c->y_type == GX_FLOAT ? 4 : 1;
	int32_t s[8] = {0};
	float scale[8] = {0}, offset[8] = {0}, y[8];
	uint8_t sum[8] = {0};
	for (int64_t i = 0; i < n; i++) {
		s[i] = sums[i * step], scale[i] = e->scale[oc + i * ds], offset[i] = e->offset[oc + i * ds];
		if (c->sum_type != GX_NONE) sum[i] = ((const uint8_t *)e->sum)[at + i];
	}
	ending local = {c, y, sum, 0, 0};
	end8(&local, _mm256_loadu_si256((const __m256i *)s), _mm256_loadu_ps(scale),
		_mm256_loadu_ps(offset), 0);
	memcpy((char *)e->y + at * size, y, (size_t)(n * size));
}

// end_last makes outputs [oc, oc + width) of n pixels whose channels are side by side; at is the
// place of the first one.
V3 static void end_last(const ending *e, const int32_t *sums, int64_t n, int64_t oc, int64_t width,
	int64_t at) {
	for (int64_t k = 0; k < width; k += 8) {
		if (width - k < 8) {
			for (int64_t i = 0; i < n; i++)
				few(e, sums + i * GX_BLOCK + k, 1, width - k, oc + k, 1, at + i * e->c->oc + k);
			return;
		}
		__m256 scale = _mm256_loadu_ps(e->scale + oc + k);
		__m256 offset = _mm256_loadu_ps(e->offset + oc + k);
		for (int64_t i = 0; i < n; i++) {
			const int32_t *s = sums + i * GX_BLOCK + k;
			end8(e, _mm256_loadu_si256((const __m256i *)s), scale, offset, at + i * e->c->oc + k);
		}
	}
}

// end_plain makes outputs of n pixels side by side; the outputs of a pixel are plane apart.
V3 static void end_plain(const ending *e, const int32_t *sums, int64_t n, int64_t oc, int64_t width,
	int64_t at, int64_t plane) {
	int64_t i = 0;
	for (; i + 8 <= n; i += 8)
		for (int64_t k = 0; k < width; k += 8) {
			__m256 r[8];
			const int32_t *s = sums + i * GX_BLOCK + k;
#pragma GCC unroll 8
			for (int q = 0; q < 8; q++) r[q] = _mm256_loadu_ps((const float *)(s + q * GX_BLOCK));
			turn8_words(r);
			int64_t some = gx_min(8, width - k);
			for (int64_t q = 0; q < some; q++)
				end8(e, _mm256_castps_si256(r[q]), _mm256_set1_ps(e->scale[oc + k + q]),
					_mm256_set1_ps(e->offset[oc + k + q]), at + (k + q) * plane + i);
		}
	if (i == n) return;
	for (int64_t k = 0; k < width; k++)
		few(e, sums + i * GX_BLOCK + k, GX_BLOCK, n - i, oc + k, 0, at + k * plane + i);
}
