// Pooling of arrays that are not plain: by oneDNN in poolprog.c, our own in plainprog.c.
#ifndef GX_POOLPROG_H
#define GX_POOLPROG_H

#include "pool.h"
#include "prog.h"

// Pointers of a run: x in a layout, y in the same one when choose_y is set and plain otherwise.
// Maxima and averages only.
int gx_pool_program(gx_prog **out, const gx_pool *c, int type, int64_t channels, int axes,
	int layout, int choose_y, int threads);

#endif
