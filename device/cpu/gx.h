// What all C kernels share: clones per instruction set, work splitting, vectors, elementary functions.
#ifndef GX_H
#define GX_H

#include <stdint.h>
#include <string.h>

// Elementwise loops vectorize only when the compiler need not preserve errno and floating-point traps.
#pragma GCC optimize("O3", "no-math-errno", "no-trapping-math")

// GX_CLONES compiles a function for several processors; the right one is chosen when the program is loaded.
#if defined(__x86_64__)
#define GX_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define GX_CLONES
#endif

// GX_EACH runs its loop in any order: an output may be the same memory as an input, element for element.
#define GX_EACH(i, begin, end) _Pragma("GCC ivdep") for (int64_t i = (begin); i < (end); i++)

// gx_range_fn does items [begin, end) of the work that arg describes.
typedef void (*gx_range_fn)(const void *arg, int64_t begin, int64_t end);

// gx_parallel splits n items into one range per thread, bounds rounded to multiples of grain.
void gx_parallel(int threads, int64_t n, int64_t grain, gx_range_fn fn, const void *arg);

// Sixteen lanes with the alignment of one element: sums use a fixed number of lanes, so that
// they are the same bits on every processor.
typedef float gx_v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t gx_i16 __attribute__((vector_size(64), aligned(4), may_alias));

#define GX_LANES 16
#define GX_AT(p) (*(gx_v16 *)(p))

static inline int64_t gx_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gx_max(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
