// The tile of dots.c. The sixteen lanes of a sum lie in PARTS vectors, registers of a kind of
// processor.
#define AT(p) (*(VECTOR *)(p))
#define LANES (GX_LANES / PARTS)

// TILE sums products of rows outputs and of terms; both are constants at every call.
INLINE void TILE(const gx_dots *d, int64_t output, int64_t term, int rows, int terms) {
	VECTOR sum[ROWS][TERMS][PARTS] = {};
	const float *x[TERMS], *dy = d->dy + output * d->pitch;
	int64_t pitch = d->pitch, whole = d->pixels / GX_LANES * GX_LANES, rest = d->pixels - whole;
#pragma GCC unroll 6
	for (int t = 0; t < terms; t++) x[t] = d->x + d->at[term + t];
	for (int64_t b = 0; b < d->images; b++, dy += d->dy_image) {
		for (int64_t i = 0; i < whole; i += GX_LANES)
#pragma GCC unroll 2
			for (int p = 0; p < PARTS; p++) {
				VECTOR v[TERMS];
#pragma GCC unroll 6
				for (int t = 0; t < terms; t++) v[t] = AT(x[t] + i + p * LANES);
#pragma GCC unroll 4
				for (int r = 0; r < rows; r++) {
					VECTOR by = AT(dy + r * pitch + i + p * LANES);
#pragma GCC unroll 6
					for (int t = 0; t < terms; t++) sum[r][t][p] += by * v[t];
				}
			}
		if (rest > 0) {
			VECTOR v[TERMS][PARTS] = {};
#pragma GCC unroll 6
			for (int t = 0; t < terms; t++) memcpy(v[t], x[t] + whole, (size_t)rest * sizeof *dy);
#pragma GCC unroll 4
			for (int r = 0; r < rows; r++) {
				VECTOR by[PARTS] = {};
				memcpy(by, dy + r * pitch + whole, (size_t)rest * sizeof *dy);
#pragma GCC unroll 6
				for (int t = 0; t < terms; t++)
#pragma GCC unroll 2
					for (int p = 0; p < PARTS; p++) sum[r][t][p] += by[p] * v[t][p];
			}
		}
#pragma GCC unroll 6
		for (int t = 0; t < terms; t++) x[t] += d->x_image;
	}
#pragma GCC unroll 4
	for (int r = 0; r < rows; r++) {
		float *to = d->dw + (output + r) * d->down + term;
#pragma GCC unroll 6
		for (int t = 0; t < terms; t++)
			to[t] = d->add ? to[t] + gx_total(sum[r][t]) : gx_total(sum[r][t]);
	}
}

#undef AT
#undef LANES
#undef TILE
#undef PARTS
#undef VECTOR
