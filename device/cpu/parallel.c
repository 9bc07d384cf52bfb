#include "gx.h"

#include <omp.h>

void gx_parallel(int threads, int64_t n, int64_t grain, gx_range_fn fn, const void *arg) {
	int64_t blocks = (n + grain - 1) / grain;
	if (threads > blocks) threads = (int)blocks;
	if (threads <= 1) {
		if (n > 0) fn(arg, 0, n);
		return;
	}
#pragma omp parallel for num_threads(threads) schedule(static)
	for (int t = 0; t < threads; t++) {
		int64_t b = blocks * t / threads * grain, e = blocks * (t + 1) / threads * grain;
		fn(arg, b, gx_min(e, n));
	}
}
