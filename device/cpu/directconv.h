// Convolutions over one or two axes of plain arrays, without a change of layout.
#ifndef GX_DIRECTCONV_H
#define GX_DIRECTCONV_H

#include "conv.h"
#include "convpick.h"

// gx_direct_ns is the estimated time of a pass of one thread, infinite where gx_direct_add does not
// take it: other layouts than plain ones, three axes, large windows.
double gx_direct_ns(const gx_conv *c, int pass);

// gx_direct_add appends a pass to a program, x being the place of its data. Other operands have the
// slots of gx_conv_forward and gx_conv_backward. Results are the same bits for any number of threads.
int gx_direct_add(gx_prog *p, const gx_conv *c, int pass, gx_place x, int threads);

#endif
