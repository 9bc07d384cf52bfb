#include <stdint.h>

// gomx_axis has, for each of n samples, the first of two pixels and their weights in units of
// 1/2048.
struct gomx_axis {
    const int32_t *first, *weight;
    int n;
};

// gomx_linear resizes a picture of width×height pixels of c bytes. rows has room for two rows of the
// result and a value more for each.
void gomx_linear(uint8_t *dst, const uint8_t *src, int width, int height, int c,
                 struct gomx_axis x, struct gomx_axis y, int16_t *rows);
