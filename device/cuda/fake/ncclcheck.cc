// A check of the imitated NCCL: calls that fit together give sums, others give errors.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *);
int cuDeviceGetDefaultMemPool(void **, int);
int cuMemPoolSetAccess(void *, const void *, size_t);
int ncclCommInitAll(void **, int, const int *);
int ncclCommDestroy(void *);
int ncclGroupStart();
int ncclGroupEnd();
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
int ncclReduce(const void *, void *, size_t, int, int, int, void *, void *);
void gx_fake_collect(int);
}

const int n = 2, count = 1000, float32 = 7, float64 = 8;
void *ctx[n], *stream[n], *comm[n];
uint64_t memory[n];

void want(const char *what, int got, int code) {
	if (got == code) return;
	fprintf(stderr, "ncclcheck: %s: got code %d, want %d\n", what, got, code);
	exit(1);
}

// call makes a group of one call per device; a device's count, type and stream may be wrong.
int call(int elements, int type, bool crossed = false, bool alone = false) {
	ncclGroupStart();
	for (int i = 0; i < (alone ? 1 : n); i++)
		ncclAllReduce((void *)memory[i], (void *)memory[i], i ? elements : count,
			i ? type : float32, 0, comm[i], stream[crossed ? n - 1 - i : i]);
	return ncclGroupEnd();
}

int main() {
	cuInit(0);
	for (int i = 0; i < n; i++) {
		want("context", cuDevicePrimaryCtxRetain(&ctx[i], i) || cuCtxSetCurrent(ctx[i]) ||
			cuStreamCreate(&stream[i], 1) || cuMemAlloc_v2(&memory[i], count * 8), 0);
		std::vector<float> values(count, i + 0.5f);
		want("copy", cuMemcpyHtoDAsync_v2(memory[i], values.data(), count * 4, stream[i]), 0);
		cuStreamSynchronize(stream[i]);
	}
	int twice[] = {1, 1}, none[] = {0, 7};
	want("a device twice", ncclCommInitAll(comm, n, twice), 5);
	want("a missing device", ncclCommInitAll(comm, n, none), 1);
	want("communicators", ncclCommInitAll(comm, n, nullptr), 0);
	want("closed memory pools", call(count, float32), 1);
	for (int i = 0; i < n; i++) {
		void *pool;
		struct { int type, id, flags; } access = {1, n - 1 - i, 3};
		cuDeviceGetDefaultMemPool(&pool, i);
		cuMemPoolSetAccess(pool, &access, 1);
	}
	want("another count", call(count / 2, float32), 4);
	want("another type", call(count, float64), 4);
	want("an unknown type", call(count, 99), 4);
	want("too many elements", call(3 * count, float32), 4);
	want("streams of other devices", call(count, float32, true), 1);
	gx_fake_collect(1);
	want("one device alone", call(count, float32, false, true), 5);
	want("no group", ncclAllReduce((void *)memory[0], (void *)memory[0], count, float32, 0, comm[0],
		stream[0]), 5);
	gx_fake_collect(0);
	want("a sum", call(count, float32), 0);
	for (int i = 0; i < n; i++) {
		std::vector<float> got(count);
		cuCtxSetCurrent(ctx[i]);
		cuMemcpyDtoHAsync_v2(got.data(), memory[i], count * 4, stream[i]);
		cuStreamSynchronize(stream[i]);
		for (float v : got) want("element of the sum, times 2", v * 2, 4);
	}
	for (void *c : comm) want("destroying", ncclCommDestroy(c), 0);
	return 0;
}
