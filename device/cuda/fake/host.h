// CUDA C on the processor: the compiler in nvrtc.cc includes this file before a kernel's source.
// The threads of a block are fibers that run one after the other; a barrier switches to the next.
// Blocks run one after the other. With GX_STRICT every access to memory is checked.

#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <elf.h>
#include <link.h>

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
// One thread runs all kernels; thread-local variables are the shared memory of a block.
static gx_dim threadIdx, blockIdx, blockDim, gridDim;

// gx_host_site is the driver's message to a module: the memory of the devices, with its map of
// usable bytes (fake/memory.h), and a function that reports a violation.
struct gx_host_site {
	const char *real;
	size_t region;
	const unsigned char *shadow;
	void (*report)(const char *format, ...);
};

// gx_host_run is one launch. The order of threads and of blocks is shuffled by seed, or reversed by
// seed 1; seed 0 keeps it.
struct gx_host_run {
	void (*fn)(const void *);
	const void *args;
	size_t bytes; // of args
	const char *name;
	unsigned grid[3], block[3];
	int device;
	bool strict;
	uint64_t seed;
};

#define UNCHECKED __attribute__((no_sanitize("thread"), noinline))

namespace gx_host {

static gx_host_site site;

enum State { fresh, ready, at_block, at_warp, done };

// A fiber is one thread of a block.
struct Fiber {
	void *sp = nullptr;
	char *stack = nullptr;
	State state = fresh;
	int line = 0; // of the barrier that it waits at
};

const size_t stack_bytes = 256 << 10;
const unsigned most = 1024, warp = 32;

struct Block {
	Fiber fibers[most];
	unsigned order[most];
	char *spare[most]; // stacks in no use
	unsigned spares = 0, total = 0;
	Fiber *running = nullptr;
	void *home = nullptr; // stack pointer of the scheduler
	const gx_host_run *run = nullptr;
	bool told = false; // an access of this launch has been reported
	uint64_t exchange[2][most]; // values that threads of a warp exchange, in turns
	unsigned char turn[most];
	unsigned epoch = 1;          // barriers of the block
	unsigned meetings[most / 32]; // barriers of each warp
};

// Use tells who wrote and who read a part of shared memory last: the thread, the block's epoch, and
// the meetings of the thread's warp.
struct Use {
	unsigned epoch[2], meetings[2];
	unsigned short thread[2];
};
// Word has the accesses to four aligned bytes: to all of them, and, in the epoch in which it was
// split last, to single ones.
struct Word {
	Use whole, part[4];
	unsigned split;
};
const size_t shared_words = 1 << 14;
static Word words[shared_words];
static Block *block;
static bool inside; // a kernel runs, not the scheduler

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

UNCHECKED static void leave() {
	inside = false;
	gx_switch(&block->running->sp, block->home);
	inside = true;
}

UNCHECKED static void enter() {
	Block *b = block;
	inside = true;
	b->run->fn(b->run->args);
	inside = false;
	b->running->state = done;
	gx_switch(&b->running->sp, b->home);
	abort();
}

UNCHECKED static void resume(unsigned i) {
	Block *b = block;
	Fiber &f = b->fibers[i];
	if (f.state == fresh) {
		f.stack = b->spares ? b->spare[--b->spares] : (char *)aligned_alloc(4096, stack_bytes);
		void **top = (void **)(f.stack + stack_bytes - 64);
		*--top = nullptr; // in place of a return address: keeps the alignment
		*--top = (void *)enter;
		for (int k = 0; k < saved; k++) *--top = nullptr;
		f.sp = top;
	}
	f.state = ready;
	b->running = &f;
	threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
	gx_switch(&b->home, f.sp);
	if (f.state == done) b->spare[b->spares++] = f.stack;
}

// wait makes the thread wait for the others of its block or of its warp.
UNCHECKED static void wait(State at, int line) {
	Fiber *f = block->running;
	f->state = at, f->line = line;
	leave();
}

// free_warp lets the threads of a warp go on if all that have not ended wait for each other.
UNCHECKED static bool free_warp(unsigned first) {
	Block *b = block;
	unsigned end = first + warp < b->total ? first + warp : b->total, waiting = 0, ended = 0;
	for (unsigned i = first; i < end; i++) {
		waiting += b->fibers[i].state == at_warp;
		ended += b->fibers[i].state == done;
	}
	if (!waiting || waiting + ended < end - first) return false;
	for (unsigned i = first; i < end; i++)
		if (b->fibers[i].state == at_warp) b->fibers[i].state = ready;
	b->meetings[first / warp]++;
	return true;
}

// free_block lets the threads of the block go on when none of them can run. With strict it reports
// if they do not all wait at the same barrier.
UNCHECKED static void free_block() {
	Block *b = block;
	unsigned ended = 0, warps = 0;
	int line = 0;
	bool differs = false;
	for (unsigned i = 0; i < b->total; i++) {
		Fiber &f = b->fibers[i];
		ended += f.state == done;
		warps += f.state == at_warp;
		if (f.state != at_block) continue;
		differs = differs || line && f.line != line;
		line = f.line;
	}
	if (b->run->strict && !b->told && (ended || warps || differs))
		site.report("%s: a barrier in line %d is not met by all threads of block %u: %u of %u have "
			"ended, %u wait for their warp%s", b->run->name, line, blockIdx.x, ended, b->total,
			warps, differs ? ", others wait at another barrier" : "");
	for (unsigned i = 0; i < b->total; i++)
		if (b->fibers[i].state != done) b->fibers[i].state = ready;
	b->epoch++;
}

UNCHECKED static uint64_t mix(uint64_t z) {
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

// arrange fills the order in which threads or blocks run.
UNCHECKED static void arrange(unsigned *order, unsigned n, uint64_t seed) {
	for (unsigned i = 0; i < n; i++) order[i] = seed == 1 ? n - 1 - i : i;
	if (seed > 1)
		for (unsigned i = n; i > 1; i--) {
			unsigned k = mix(seed + i * 0x9E3779B97F4A7C15) % i, t = order[i - 1];
			order[i - 1] = order[k], order[k] = t;
		}
}

static void poison_shared();

UNCHECKED static void run_block(uint64_t seed) {
	Block *b = block;
	for (unsigned i = 0; i < b->total; i++) b->fibers[i].state = fresh, b->turn[i] = 0;
	b->epoch++;
	if (b->run->strict) poison_shared();
	for (;;) {
		bool left = false;
		arrange(b->order, b->total, seed);
		if (seed > 1) seed = mix(seed) | 2;
		for (unsigned k = 0; k < b->total; k++) {
			State s = b->fibers[b->order[k]].state;
			if (s == fresh || s == ready) resume(b->order[k]);
			left = left || b->fibers[b->order[k]].state != done;
		}
		if (!left) return;
		bool freed = false;
		for (unsigned w = 0; w < b->total; w += warp) freed = free_warp(w) || freed;
		if (!freed) free_block();
	}
}

// The shared memory of a block, all thread-local variables of the module, is filled with a pattern
// before each block.
static thread_local volatile char touched; // the variables exist after their first use
static const char *tls_begin, *tls_end, *image_begin, *image_end;

UNCHECKED static int find_image(dl_phdr_info *info, size_t, void *) {
	const char *self = (const char *)&site;
	const char *begin = nullptr, *end = nullptr;
	size_t tls = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) &p = info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + p.p_vaddr;
		if (p.p_type == PT_LOAD) {
			if (!begin || at < begin) begin = at;
			if (at + p.p_memsz > end) end = at + p.p_memsz;
		}
		if (p.p_type == PT_TLS) tls = p.p_memsz;
	}
	if (!(self >= begin && self < end)) return 0;
	image_begin = begin, image_end = end;
	tls_begin = (const char *)info->dlpi_tls_data, tls_end = tls_begin + tls;
	return 1;
}

UNCHECKED static void poison_shared() {
	if (tls_begin) memset((char *)tls_begin, 0xC7, tls_end - tls_begin);
}

// tell reports a violation by the running thread, once per launch.
UNCHECKED static void tell(const char *does, size_t n, const char *what) {
	if (block->told) return;
	block->told = true;
	inside = false;
	site.report("%s: thread %u of block %u %s %zu bytes of %s", block->run->name, threadIdx.x,
		blockIdx.x, does, n, what);
	inside = true;
}

// meets reports an access of n bytes that no barrier orders with another thread's use.
UNCHECKED static void meets(const Use &u, size_t n, bool writes) {
	Block *b = block;
	unsigned self = b->running - b->fibers;
	for (int k = writes ? 0 : 1; k < 2; k++) { // 0: reads, 1: writes
		unsigned other = u.thread[k];
		if (u.epoch[k] != b->epoch || other == self) continue;
		if (other / warp == self / warp && u.meetings[k] != b->meetings[self / warp]) continue;
		tell(writes ? "writes" : "reads", n, "shared memory that another thread uses, without a "
			"barrier between them");
	}
}

UNCHECKED static void note(Use &u, bool writes) {
	Block *b = block;
	unsigned self = b->running - b->fibers;
	u.epoch[writes] = b->epoch, u.thread[writes] = self;
	u.meetings[writes] = b->meetings[self / warp];
}

// races reports an access to shared memory that no barrier orders with another thread's. Threads may
// use neighbouring bytes.
UNCHECKED static void races(size_t off, size_t n, bool writes) {
	bool whole = off % 4 == 0 && n % 4 == 0;
	size_t end = off + n < 4 * shared_words ? off + n : 4 * shared_words;
	for (size_t i = off; i < end; i += whole ? 4 : 1) {
		Word &w = words[i / 4];
		meets(w.whole, n, writes);
		for (size_t k = 0; k < 4 && w.split == block->epoch; k++)
			if (whole || k == i % 4) meets(w.part[k], n, writes);
		note(whole ? w.whole : w.part[i % 4], writes);
		if (!whole) w.split = block->epoch;
	}
}

// check reports an access to memory that the kernel may not use.
UNCHECKED static void check(const void *address, size_t n, bool writes) {
	if (!inside) return;
	const char *p = (const char *)address;
	Block *b = block;
	const char *stack = b->running->stack;
	if (p >= stack && p + n <= stack + stack_bytes) return;
	if (p >= tls_begin && p + n <= tls_end) return races(p - tls_begin, n, writes);
	if (p >= image_begin && p + n <= image_end && !writes) return;
	const char *args = (const char *)b->run->args;
	if (p >= args && p + n <= args + b->run->bytes && !writes) return;
	const char *why = "memory that is no device's";
	size_t off = p - site.real;
	if (off < site.region) {
		unsigned char s = site.shadow[off / 8], e = site.shadow[(off + n - 1) / 8];
		if (s == 0xF0 || e == 0xF0) why = "memory that has been freed";
		else if (s == 0 || e == 0 || (off + n - 1) % 8 >= (e & 15)) why = "memory outside of all arrays";
		else if (s >> 4 != b->run->device) why = "memory of another device";
		else if ((n == 2 || n == 4 || n == 8 || n == 16) && off % n)
			why = "memory at a misaligned address";
		else return;
	}
	tell(writes ? "writes" : "reads", n, why);
	inside = false; // the access would end the process: only the thread ends
	b->running->state = done;
	gx_switch(&b->running->sp, b->home);
}

} // namespace gx_host

// The compiler calls these before each access to memory (-fsanitize=thread, without its library).
#ifdef GX_STRICT
#define HOOK UNCHECKED __attribute__((used)) void
#define ACCESS(n) \
	HOOK __tsan_read##n(const void *p) { gx_host::check(p, n, false); } \
	HOOK __tsan_write##n(const void *p) { gx_host::check(p, n, true); } \
	HOOK __tsan_unaligned_read##n(const void *p) { gx_host::check(p, n, false); } \
	HOOK __tsan_unaligned_write##n(const void *p) { gx_host::check(p, n, true); }
extern "C" {
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
HOOK __tsan_read_range(const void *p, size_t n) { gx_host::check(p, n, false); }
HOOK __tsan_write_range(const void *p, size_t n) { gx_host::check(p, n, true); }
__attribute__((used)) void __tsan_init() {}
__attribute__((used)) void __tsan_func_entry(void *) {}
__attribute__((used)) void __tsan_func_exit() {}
}
#endif

#define __syncthreads() gx_host::wait(gx_host::at_block, __LINE__)
#define __syncwarp(...) gx_host::wait(gx_host::at_warp, __LINE__)

// Threads of a warp exchange values in turns between two slots, so that one barrier is enough.
template <class T> UNCHECKED static T gx_exchange(T v, unsigned from, int line) {
	using namespace gx_host;
	Block *b = block;
	unsigned self = b->running - b->fibers, lane = self % warp;
	unsigned t = b->turn[self]++ & 1;
	memcpy(&b->exchange[t][self], &v, sizeof v);
	wait(at_warp, line);
	unsigned other = self - lane + from;
	if (from < warp && other < b->total) memcpy(&v, &b->exchange[t][other], sizeof v);
	return v;
}
#define __shfl_xor_sync(mask, v, bits) gx_exchange(v, (threadIdx.x % 32) ^ (bits), __LINE__)
#define __shfl_down_sync(mask, v, n) gx_exchange(v, threadIdx.x % 32 + (n), __LINE__)
#define __shfl_sync(mask, v, lane) gx_exchange(v, (lane), __LINE__)

extern "C" void gx_host_setup(const gx_host_site *s) { gx_host::site = *s; }

extern "C" UNCHECKED void gx_host_launch(const gx_host_run *r) {
	using namespace gx_host;
	if (!block) block = new Block;
	tls_begin = nullptr;
	touched = 1;
	if (r->strict) dl_iterate_phdr(find_image, nullptr);
	block->run = r, block->told = false;
	gridDim = {r->grid[0], r->grid[1], r->grid[2]}, blockDim = {r->block[0], r->block[1], r->block[2]};
	block->total = blockDim.x * blockDim.y * blockDim.z;
	unsigned n = gridDim.x * gridDim.y * gridDim.z;
	unsigned *order = nullptr;
	if (r->seed) arrange(order = (unsigned *)malloc(n * sizeof *order), n, r->seed);
	for (unsigned i = 0; i < n; i++) {
		unsigned at = order ? order[i] : i;
		blockIdx = {at % gridDim.x, at / gridDim.x % gridDim.y, at / (gridDim.x * gridDim.y)};
		run_block(r->seed > 1 ? mix(r->seed + i) | 2 : r->seed);
	}
	free(order);
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
