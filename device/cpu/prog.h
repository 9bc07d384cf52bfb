// A program is a fixed sequence of kernels over operands of the caller and scratch memory, made for
// certain shapes and threads. The kernels are oneDNN's (dnnprog.h), or our own in binaries that are
// built without oneDNN (plainprog.h).
#ifndef GX_PROG_H
#define GX_PROG_H

#include <stdint.h>

typedef struct gx_prog gx_prog;

enum { GX_PROG_PTRS = 6 };

// Layouts of arrays with batch and channels in front: plain, channels last, channels in blocks that
// run fastest.
enum { GX_PLAIN, GX_LAST, GX_BLOCK8, GX_BLOCK16, GX_LAYOUTS };

// Element types of arrays in programs, and GX_NONE for an array that is not there. Sums of bfloat16
// numbers are float32 inside.
enum { GX_FLOAT, GX_BFLOAT, GX_UINT8, GX_INT8, GX_NONE };

// gx_reorder makes the program that copies an array from one layout (pointer 0) to another (pointer
// 1).
int gx_reorder(gx_prog **out, int type, int axes, const int64_t *dims, int from, int to,
	int threads);

// gx_prog_packed_bytes is the size of the form of an operand that another program prepares;
// gx_prog_packed_equal says whether both take weights in the same form.
int64_t gx_prog_packed_bytes(const gx_prog *p);
int gx_prog_packed_equal(const gx_prog *a, const gx_prog *b);

// gx_prog_impl names the implementation that the library has chosen for step i, null after the last
// one.
const char *gx_prog_impl(const gx_prog *p, int i);

// Running. Any number of threads may run one program, each with its own scratch memory.
// Constructors and runs return 0 or the status of oneDNN that says why they failed.
int64_t gx_prog_scratch(const gx_prog *p);
int gx_prog_run(gx_prog *p, void *a, void *b, void *c, void *d, void *e, void *f, void *scratch);
void gx_prog_free(gx_prog *p);

#endif
