// Bytes that become 16 bits wide, for byteconv.c: SIGNED says whether they are int8, and NAME names
// the function.

// NAME writes a row of n pixels of the wide data, channels numbers apart, of pixels of x that are
// skip apart. Channels are plane apart or, where plane is 1, side by side: x has all its channels.
V3 static void NAME(int16_t *d, const uint8_t *x, const gx_byteplan *p, int64_t n, int64_t plane) {
	int64_t ic = p->c->ic, skip = p->skip[2], wide = p->channels;
	if (plane == 1) {
		int together = skip == 1 && wide == ic;
		int64_t size = together ? n * ic : ic;
		for (int64_t i = 0; i < (together ? 1 : n); i++, d += wide, x += skip * ic) {
			int64_t k = 0;
			for (; k + 16 <= size; k += 16) {
				__m128i b = _mm_loadu_si128((const __m128i *)(x + k));
				_mm256_storeu_si256((__m256i *)(d + k),
					SIGNED ? _mm256_cvtepi8_epi16(b) : _mm256_cvtepu8_epi16(b));
			}
			for (; k < size; k++) d[k] = SIGNED ? (int8_t)x[k] : x[k];
		}
		return;
	}
	int64_t turned = skip == 1 ? ic / 8 * 8 : 0, whole = n / 8 * 8;
	for (int64_t k = 0; k < turned; k += 8)
		for (int64_t i = 0; i < whole; i += 8) {
			__m128i r[8];
#pragma GCC unroll 8
			for (int q = 0; q < 8; q++) {
				__m128i b = _mm_loadl_epi64((const __m128i *)(x + (k + q) * plane + i));
				r[q] = SIGNED ? _mm_cvtepi8_epi16(b) : _mm_cvtepu8_epi16(b);
			}
			turn8(r);
#pragma GCC unroll 8
			for (int q = 0; q < 8; q++) _mm_storeu_si128((__m128i *)(d + (i + q) * wide + k), r[q]);
		}
	for (int64_t k = 0; k < ic; k++)
		for (int64_t i = k < turned ? whole : 0; i < n; i++) {
			uint8_t b = x[k * plane + i * skip];
			d[i * wide + k] = SIGNED ? (int8_t)b : b;
		}
}

#undef NAME
#undef SIGNED
