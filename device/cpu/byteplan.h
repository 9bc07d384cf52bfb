// The plan of a layer of integers of 8 bits, which its steps share.
#ifndef GX_BYTEPLAN_H
#define GX_BYTEPLAN_H

#include "int8.h"

#include "gx.h"

// GX_BLOCK outputs are computed side by side.
enum { GX_BLOCK = 16 };

// gx_byteplan describes a layer as one with three axes: depth, height, width. Wide data are 16 bits
// for each of channels numbers of a pixel. The elements of a window that lie side by side there are
// a run; a sum is one of pairs of elements of runs, the last of which may be half.
typedef struct {
	const gx_int8 *c;
	int64_t batch, in[3], out[3], kernel[3], dilate[3], pad[3];
	int64_t step[3], skip[3];   // of outputs in the wide data; of wide pixels in the data
	int64_t groups, each, per;  // input and output channels of a group
	int64_t channels, columns;  // of wide data: numbers of a pixel, pixels of a row
	int64_t runs, pairs;        // of a group
	int64_t rows, bands;        // output rows of a band; bands of an image
	int64_t blocks, depthwise;  // blocks of outputs; whether every channel is its own group
	int x_last, y_last;
} gx_byteplan;

// gx_byteplan_of describes a layer.
gx_byteplan gx_byteplan_of(const gx_int8 *c);

// gx_byteplan_high is the number of rows of wide data that some output rows read, in each of
// kernel[0] slices.
static inline int64_t gx_byteplan_high(const gx_byteplan *p, int64_t rows) {
	return (rows - 1) * p->step[1] + (p->kernel[1] - 1) * p->dilate[1] + 1;
}

// gx_byteplan_weights is the size of the packed weights of n outputs of a group.
static inline int64_t gx_byteplan_weights(const gx_byteplan *p, int64_t n) {
	return (n + 7) / 8 * 8 * 2 * p->runs * p->pairs;
}

#endif
