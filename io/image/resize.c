#include "resize.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// along resizes one row to width pixels; values have seven bits after the point.
static void along(int16_t *restrict dst, const uint8_t *restrict src, int size, int c,
                  const struct gomx_axis *a) {
    int x = 0, last = size - 1;
#ifdef __SSE2__
    // A pixel and its neighbor lie in eight bytes; the fourth value is overwritten by the next.
    if (c == 3)
        for (; x < a->n && a->first[x] * 3 + 8 <= size * 3; x++) {
            __m128i left = _mm_loadl_epi64((const __m128i *)(src + a->first[x] * 3));
            __m128i both = _mm_unpacklo_epi8(left, _mm_srli_epi64(left, 24));
            __m128i wide = _mm_unpacklo_epi8(both, _mm_setzero_si128());
            __m128i w = _mm_set1_epi32(a->weight[2 * x] | a->weight[2 * x + 1] << 16);
            __m128i sum = _mm_srai_epi32(_mm_madd_epi16(wide, w), 4);
            _mm_storel_epi64((__m128i *)(dst + 3 * x), _mm_packs_epi32(sum, sum));
        }
#endif
    for (; x < a->n; x++) {
        const uint8_t *l = src + a->first[x] * c;
        const uint8_t *r = src + (a->first[x] < last ? a->first[x] + 1 : last) * c;
        for (int k = 0; k < c; k++)
            dst[x * c + k] = (a->weight[2 * x] * l[k] + a->weight[2 * x + 1] * r[k]) >> 4;
    }
}

// across adds two weighted rows of n values.
static void across(uint8_t *restrict dst, const int16_t *restrict above,
                   const int16_t *restrict below, int n, int u, int v) {
    int i = 0;
#ifdef __SSE2__
    __m128i wu = _mm_set1_epi16(u), wv = _mm_set1_epi16(v), half = _mm_set1_epi16(2);
    for (; i + 16 <= n; i += 16) {
        __m128i part[2];
        for (int k = 0; k < 2; k++) {
            __m128i a = _mm_loadu_si128((const __m128i *)(above + i + 8 * k));
            __m128i b = _mm_loadu_si128((const __m128i *)(below + i + 8 * k));
            __m128i sum = _mm_add_epi16(_mm_mulhi_epi16(a, wu), _mm_mulhi_epi16(b, wv));
            part[k] = _mm_srai_epi16(_mm_add_epi16(sum, half), 2);
        }
        _mm_storeu_si128((__m128i *)(dst + i), _mm_packus_epi16(part[0], part[1]));
    }
#endif
    for (; i < n; i++)
        dst[i] = ((u * above[i] >> 16) + (v * below[i] >> 16) + 2) >> 2;
}

void gomx_linear(uint8_t *dst, const uint8_t *src, int width, int height, int c,
                 struct gomx_axis x, struct gomx_axis y, int16_t *rows) {
    int n = x.n * c, have[2] = {-1, -1};
    int16_t *row[2] = {rows, rows + n + 1};
    for (int i = 0; i < y.n; i++) {
        for (int k = 0; k < 2; k++) {
            int at = y.first[i] + k;
            at = at < 0 ? 0 : at < height ? at : height - 1;
            if (k == 0 && have[1] == at) {
                int16_t *r = row[0];
                row[0] = row[1], row[1] = r;
                have[1] = have[0], have[0] = at;
            }
            if (have[k] != at) {
                along(row[k], src + (long)at * width * c, width, c, &x);
                have[k] = at;
            }
        }
        across(dst + (long)i * n, row[0], row[1], n, y.weight[2 * i], y.weight[2 * i + 1]);
    }
}
