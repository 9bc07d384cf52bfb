#include "gx.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

static __thread int team_size; // threads that the calling thread's team has, itself included

static void start_team(int threads) {
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
#pragma omp parallel num_threads(threads)
	__asm__ volatile("" ::: "memory");
	pthread_sigmask(SIG_SETMASK, &old, 0);
	team_size = threads;
}

void gx_team(int threads) {
	omp_set_num_threads(threads);
	if (threads > 1 && threads != team_size) start_team(threads);
}

void gx_parallel(int threads, int64_t n, int64_t grain, gx_range_fn fn, const void *arg) {
	int64_t blocks = (n + grain - 1) / grain;
	if (threads > blocks) threads = (int)blocks;
	if (threads <= 1) {
		if (n > 0) fn(arg, 0, n);
		return;
	}
	gx_team(threads);
#pragma omp parallel for num_threads(threads) schedule(static)
	for (int t = 0; t < threads; t++) {
		int64_t b = blocks * t / threads * grain, e = blocks * (t + 1) / threads * grain;
		fn(arg, b, gx_min(e, n));
	}
}

void gx_hand_out(int threads, int64_t n, gx_range_fn fn, const void *arg) {
	gx_team(threads);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
	for (int64_t i = 0; i < n; i++) fn(arg, i, i + 1);
}

typedef struct {
	float *d;
	const float *parts;
	int64_t n;
	int count;
} addition;

static void add_range(const void *arg, int64_t begin, int64_t end) {
	const addition *a = arg;
	for (int t = 0; t < a->count; t++) {
		const float *part = a->parts + t * a->n;
		GX_EACH(i, begin, end) a->d[i] += part[i];
	}
}

void gx_add_parts(float *d, const float *parts, int64_t n, int count, int threads) {
	addition a = {d, parts, n, count};
	if (count > 0) gx_parallel(threads, n, GX_LANES, add_range, &a);
}
