// A program of our own kernels, for binaries that are built without oneDNN.
#ifndef GX_PLAINPROG_H
#define GX_PLAINPROG_H

#include "conv.h"
#include "pool.h"
#include "prog.h"

// Statuses that functions return, with the values of oneDNN.
enum { GX_NO_MEMORY = 1, GX_NOT_IMPLEMENTED = 3 };

// gx_array is the shape of an array with batch and channels in front.
typedef struct {
	int64_t batch, channels, pixels;
} gx_array;

// A gx_prog_fn runs a program. The caller gives the operands, and scratch memory of the size that
// the program asks for.
typedef int (*gx_prog_fn)(const gx_prog *p, void *const *ptrs, char *scratch);

struct gx_prog {
	gx_prog_fn run;
	int threads, want_x, want_w;
	int64_t scratch, packed; // bytes
	gx_conv conv;            // with three axes
	gx_pool pool;
	gx_array x, y;
	int from, to;  // layouts
	int64_t width; // bytes of an element that a reorder copies
};

// gx_prog_new returns a program that does nothing yet.
gx_prog *gx_prog_new(gx_prog_fn run, int threads);

// gx_prog_take adds room for so many floats to the scratch memory of a program and returns its
// offset.
int64_t gx_prog_take(gx_prog *p, int64_t floats);

// gx_relayout copies an array from one layout to another.
void gx_relayout(float *d, const float *s, const gx_array *a, int from, int to, int threads);

#endif
