// The tile of direct.c, for at most VECTORS vectors of LANES lanes: registers of a kind of processor.
// Sixteen lanes at the end of a tile may hold fewer pixels.
#define AT(p) (*(VECTOR *)(p))

// TILE computes rows outputs of vectors of pixels; both are constants at every call.
INLINE void TILE(const gx_direct *d, spot s, int rows, int vectors) {
	VECTOR sum[ROWS][VECTORS] = {};
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++) {
		VECTOR first = (VECTOR){} + s.first[r]; // the other way round GCC 12 sets lane by lane
#pragma GCC unroll 8
		for (int v = 0; v < vectors; v++) sum[r][v] = first;
	}
	const float *w = d->w + s.output * d->down, *x = d->x + s.pixel;
	int64_t down = d->down, along = d->along, at = s.output * d->pitch + s.pixel;
	for (int64_t k = 0; k < d->terms; k++, w += along) {
		const float *from = x + d->at[k];
		VECTOR term[VECTORS];
#pragma GCC unroll 8
		for (int v = 0; v < vectors; v++) term[v] = AT(from + v * LANES);
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++) {
			VECTOR factor = w[r * down] - (VECTOR){};
#pragma GCC unroll 8
			for (int v = 0; v < vectors; v++) sum[r][v] += factor * term[v];
		}
	}
	if (s.lanes < GX_LANES) {
		VECTOR out[ROWS][VECTORS];
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
			for (int v = 0; v < vectors; v++) out[r][v] = sum[r][v];
		finish(d, s, (const float *)out, rows, VECTORS * LANES,
			vectors * LANES - GX_LANES + s.lanes);
		return;
	}
	if (d->add)
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
			for (int v = 0; v < vectors; v++)
				sum[r][v] += AT(d->add + at + r * d->pitch + v * LANES);
	if (d->relu)
#pragma GCC unroll 6
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
			for (int v = 0; v < vectors; v++)
				sum[r][v] = (VECTOR)((NUMBERS)sum[r][v] & ~(NUMBERS)(sum[r][v] < 0.0f));
#pragma GCC unroll 6
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
		for (int v = 0; v < vectors; v++)
			AT(d->y + at + r * d->pitch + v * LANES) = sum[r][v];
}

#undef AT
#undef TILE
#undef LANES
#undef VECTORS
#undef VECTOR
#undef NUMBERS
