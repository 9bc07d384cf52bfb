// Transposition of sixteen vectors of sixteen numbers.
#ifndef GX_TURN_H
#define GX_TURN_H

#if defined(__x86_64__)
#include <immintrin.h>

#define GX_WIDE __attribute__((target("arch=x86-64-v4")))

// gx_merge is one step of the transposition: groups of four and of eight change places.
static inline __attribute__((always_inline)) GX_WIDE void gx_merge(__m512 *d, const __m512 *s,
	int i, int by) {
	d[i] = _mm512_shuffle_f32x4(s[i], s[i + by], 0x88);
	d[i + by] = _mm512_shuffle_f32x4(s[i], s[i + by], 0xdd);
}

// gx_turn transposes r.
static inline __attribute__((always_inline)) GX_WIDE void gx_turn(__m512 *r) {
	__m512 t[16];
	for (int i = 0; i < 16; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	for (int i = 0; i < 16; i += 4)
		for (int h = 0; h < 2; h++) {
			__m512d x = _mm512_castps_pd(t[i + h]), y = _mm512_castps_pd(t[i + 2 + h]);
			r[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
			r[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
		}
	for (int i = 0; i < 4; i++) {
		gx_merge(t, r, i, 4);
		gx_merge(t, r, i + 8, 4);
	}
	for (int i = 0; i < 8; i++) gx_merge(r, t, i, 8);
}
#endif

#endif
