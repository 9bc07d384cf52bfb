// CUDA C on the processor: the compiler in nvrtc.cc includes this file before a kernel's source.
// The threads of a block are fibers that run one after the other; a barrier switches to the next.
// Blocks run one after the other.

#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ inline __attribute__((noinline))
#define __constant__ static const
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct gx_dim {
	unsigned x, y, z;
};
static thread_local gx_dim threadIdx, blockIdx, blockDim, gridDim;

namespace gx_host {

// A fiber is one thread of a block that has met a barrier.
struct Fiber {
	void *sp = nullptr;
	char *stack = nullptr;
	gx_dim index{};
	bool done = true;
};

const size_t stack_bytes = 256 << 10;

struct Block {
	std::vector<Fiber> fibers;
	Fiber *running = nullptr;
	void *home = nullptr; // stack pointer of the scheduler
	void (*fn)(const void *) = nullptr;
	const void *args = nullptr;
	~Block() {
		for (auto &f : fibers) free(f.stack);
	}
};
static thread_local Block block;

#if defined(__x86_64__)
// gx_switch saves the registers that a call must keep, and the stack pointer in *from, and
// continues where to was saved.
extern "C" void gx_switch(void **from, void *to);
asm(R"(
	.text
	.local gx_switch
	.type gx_switch, @function
gx_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size gx_switch, .-gx_switch
)");
const int saved = 6;
#else
#error "the imitated driver runs on x86-64"
#endif

static void __attribute__((noinline)) enter() {
	Block *b = &block;
	b->fn(b->args);
	b->running->done = true;
	gx_switch(&b->running->sp, b->home);
	abort();
}

static void start(Fiber &f) {
	if (!f.stack) f.stack = (char *)aligned_alloc(4096, stack_bytes);
	void **top = (void **)(f.stack + stack_bytes - 64);
	*--top = nullptr; // in place of a return address: keeps the alignment
	*--top = (void *)enter;
	for (int i = 0; i < saved; i++) *--top = nullptr;
	f.sp = top;
	f.done = false;
}

static void resume(Fiber &f) {
	block.running = &f;
	threadIdx = f.index;
	gx_switch(&block.home, f.sp);
}

static inline void yield() { gx_switch(&block.running->sp, block.home); }

// run_block starts the threads one by one; those that meet a barrier are resumed in rounds, each
// round up to the next barrier.
static void run_block() {
	unsigned total = blockDim.x * blockDim.y * blockDim.z, waiting = 0;
	if (block.fibers.size() < total) block.fibers.resize(total);
	for (unsigned i = 0; i < total; i++) {
		Fiber &f = block.fibers[waiting];
		f.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
		start(f);
		resume(f);
		if (!f.done) waiting++;
	}
	while (waiting > 0) {
		unsigned left = 0;
		for (unsigned i = 0; i < waiting; i++) {
			Fiber &f = block.fibers[i];
			resume(f);
			if (!f.done) {
				if (left != i) std::swap(block.fibers[left], block.fibers[i]);
				left++;
			}
		}
		waiting = left;
	}
}

} // namespace gx_host

static inline void __syncthreads() { gx_host::yield(); }

extern "C" void gx_host_launch(void (*fn)(const void *), const void *args, const unsigned *grid,
	const unsigned *threads) {
	gx_host::block.fn = fn, gx_host::block.args = args;
	gridDim = {grid[0], grid[1], grid[2]}, blockDim = {threads[0], threads[1], threads[2]};
	for (unsigned z = 0; z < grid[2]; z++)
		for (unsigned y = 0; y < grid[1]; y++)
			for (unsigned x = 0; x < grid[0]; x++) {
				blockIdx = {x, y, z};
				gx_host::run_block();
			}
}

// A kernel takes one struct of eight-byte fields; the driver reads its size.
#define KERNEL(name, Args) \
	static void name##_body(const Args &k); \
	extern "C" size_t gx_args_k_##name; \
	size_t gx_args_k_##name = sizeof(Args); \
	extern "C" void k_##name(const void *p) { name##_body(*(const Args *)p); } \
	static void name##_body(const Args &k)

template <class T> static inline T atomicAdd(T *p, T v) {
	T old = *p;
	*p = old + v;
	return old;
}
static inline float __uint_as_float(unsigned v) {
	float f;
	memcpy(&f, &v, 4);
	return f;
}
static inline unsigned __float_as_uint(float f) {
	unsigned v;
	memcpy(&v, &f, 4);
	return v;
}
static inline unsigned __umulhi(unsigned a, unsigned b) {
	return (unsigned)((uint64_t)a * b >> 32);
}
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
