#include "gx.h"

#include <omp.h>
#include <stdlib.h>

// A thread of glibc keeps the first KEPT free blocks of each small size to itself, and does not
// merge them with free neighbours. An aligned block is cut out of a larger one, and the small rests
// before and behind it are freed at once. While the thread keeps them, the aligned block is too
// small for the next one of its size when it is free: that comes from new memory. With full lists
// the rests are merged.
//
// The rests of a block that is aligned to 128 bytes have 32 to 160 bytes, 8 of them for the heap.
enum { KEPT = 7, LEAST = 24, MOST = 152, STEP = 16, EVERY = 8 };

// fill fills the lists of the calling thread.
static void fill(void) {
	void *block[(MOST - LEAST) / STEP + 1][KEPT];
	for (int i = 0; LEAST + i * STEP <= MOST; i++)
		for (int k = 0; k < KEPT; k++) block[i][k] = malloc(LEAST + i * STEP);
	// The compiler leaves out blocks that it sees no use of.
	__asm__ volatile("" : : "r"(block) : "memory");
	for (int i = 0; LEAST + i * STEP <= MOST; i++)
		for (int k = 0; k < KEPT; k++) free(block[i][k]);
}

void gx_close_gaps(int threads) {
	static __thread unsigned calls; // the lists change slowly
	if (calls++ % EVERY) return;
	if (threads <= 1 || omp_in_parallel()) {
		fill();
		return;
	}
#pragma omp parallel num_threads(threads)
	fill();
}
