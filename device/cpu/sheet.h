// Sheets: copies of planes in which the pixels that one tap of a window meets lie one behind the
// other, output pixel by output pixel.
#ifndef GX_SHEET_H
#define GX_SHEET_H

#include <stdint.h>

// Taps along an axis; floats that are read and written behind a sheet
enum { GX_TAPS = 64, GX_SLACK = 64 };

// gx_axis says which inputs the outputs along an axis meet: output i meets input i * step + at[t]
// for each tap t. Inputs outside are zero.
typedef struct {
	int64_t in, out, step;
	int taps;
	int64_t at[GX_TAPS];
} gx_axis;

// gx_sheet describes the copies of a strip of output rows. A plane is copied once for every tap of
// the width and every remainder that the rows have modulo the step.
typedef struct {
	gx_axis h, w;
	int64_t rows;           // output rows of a strip
	int64_t top;            // least of h.at
	int64_t classes, depth; // remainders; rows of each
	// Floats of the copy of one remainder for one tap; of all copies of a plane
	int64_t copy, plane;
	int narrow;             // rows whose copies fit into one vector, or two of them
	// Of two vectors, for each lane of a copy; all bits where it is inside
	int32_t lane[GX_TAPS][16], some[GX_TAPS][16];
} gx_sheet;

gx_sheet gx_sheet_of(const gx_axis *h, const gx_axis *w, int64_t rows);

// gx_sheet_offsets writes where the pixels of every channel and tap begin: row by row of the
// window, as weights do.
void gx_sheet_offsets(const gx_sheet *s, int64_t channels, int32_t *at);

// gx_sheet_fill copies the inputs that rows output rows from row on meet, of planes that lie one
// behind the other.
void gx_sheet_fill(const gx_sheet *s, float *d, const float *planes, int64_t channels, int64_t row,
	int64_t rows);

#endif
