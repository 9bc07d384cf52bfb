// An imitated driver without a GPU: libcuda.so.1 for tests. Devices use the memory and the
// processor of this process; streams are threads that work asynchronously, events order them, and a
// module is a shared library that the imitated compiler (nvrtc.cc) has made from CUDA C.
//
// Device addresses are not host addresses: they lie in a protected region, so a program that reads
// device memory from the host crashes here as it does on a GPU. A copy out of bounds or of freed
// memory, and a launch without a context, return an error.

#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

const int devices = 2;
const size_t region = size_t(64) << 30, capacity = size_t(8) << 30;

struct Context {
	int device;
};
Context contexts[devices] = {{0}, {1}};
thread_local Context *current = nullptr;

// The memory of all devices: the program's addresses begin at seen, the memory behind them at real.
char *seen, *real;
std::mutex memory_mu;
std::map<size_t, size_t> blocks, holes; // sizes of used blocks and of free holes, by offset
size_t in_use;
std::map<char *, size_t> pinned;

std::atomic<int> failure{0}; // error that every later call returns, as on a GPU after a fault

void open_memory() {
	static std::once_flag once;
	std::call_once(once, [] {
		seen = (char *)mmap(nullptr, region, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);
		real = (char *)mmap(nullptr, region, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (seen == MAP_FAILED || real == MAP_FAILED) abort();
		holes[0] = region;
	});
}

bool is_device(uint64_t p) { return p >= (uint64_t)seen && p < (uint64_t)seen + region; }

char *host(uint64_t p) { return real + (p - (uint64_t)seen); }

// within reports whether the bytes from p on lie in one block.
bool within(uint64_t p, size_t bytes) {
	if (!is_device(p)) return false;
	size_t at = p - (uint64_t)seen;
	std::lock_guard<std::mutex> lock(memory_mu);
	auto b = blocks.upper_bound(at);
	if (b == blocks.begin()) return false;
	--b;
	return at + bytes <= b->first + b->second;
}

CUresult take(CUdeviceptr *p, size_t bytes) {
	open_memory();
	if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
	size_t size = (bytes + 511) & ~size_t(511);
	std::lock_guard<std::mutex> lock(memory_mu);
	if (in_use + size > capacity) return CUDA_ERROR_OUT_OF_MEMORY;
	for (auto h = holes.begin(); h != holes.end(); ++h)
		if (h->second >= size) {
			size_t at = h->first, left = h->second - size;
			holes.erase(h);
			if (left) holes[at + size] = left;
			blocks[at] = size;
			in_use += size;
			*p = (CUdeviceptr)(seen + at);
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult give(CUdeviceptr p) {
	size_t at = (char *)p - seen;
	std::lock_guard<std::mutex> lock(memory_mu);
	auto b = blocks.find(at);
	if (b == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
	size_t size = b->second;
	blocks.erase(b);
	in_use -= size;
	if (size >= (1 << 20)) madvise(real + at, size, MADV_DONTNEED);
	auto next = holes.lower_bound(at);
	if (next != holes.end() && next->first == at + size) {
		size += next->second;
		next = holes.erase(next);
	}
	if (next != holes.begin()) {
		auto before = std::prev(next);
		if (before->first + before->second == at) {
			before->second += size;
			return CUDA_SUCCESS;
		}
	}
	holes[at] = size;
	return CUDA_SUCCESS;
}

// A mark is one recording of an event: it is reached when the stream has executed it.
struct Mark {
	std::mutex mu;
	std::condition_variable cond;
	bool reached = false;
	void reach() {
		std::lock_guard<std::mutex> lock(mu);
		reached = true;
		cond.notify_all();
	}
	void wait() {
		std::unique_lock<std::mutex> lock(mu);
		cond.wait(lock, [this] { return reached; });
	}
	bool is() {
		std::lock_guard<std::mutex> lock(mu);
		return reached;
	}
};

struct Event {
	std::mutex mu;
	std::shared_ptr<Mark> mark;
};

struct Stream {
	Context *ctx;
	std::mutex mu;
	std::condition_variable cond;
	std::deque<std::function<void()>> work;
	bool shut = false;
	// Work is recorded, not run; unsupported work was requested
	bool captures = false, spoiled = false;
	std::vector<std::function<void()>> remembered;
	std::thread worker;
	explicit Stream(Context *c) : ctx(c), worker([this] { run(); }) {}
	void run() {
		for (;;) {
			std::unique_lock<std::mutex> lock(mu);
			cond.wait(lock, [this] { return shut || !work.empty(); });
			if (work.empty()) return;
			auto f = std::move(work.front());
			work.pop_front();
			lock.unlock();
			f();
		}
	}
	void put(std::function<void()> f) {
		std::lock_guard<std::mutex> lock(mu);
		if (captures) {
			remembered.push_back(std::move(f));
			return;
		}
		work.push_back(std::move(f));
		cond.notify_one();
	}
	// refuses reports whether the stream is capturing; if so the capture is spoiled.
	bool refuses() {
		std::lock_guard<std::mutex> lock(mu);
		if (captures) spoiled = true;
		return captures;
	}
};

// A graph is the recorded work of a stream.
struct Graph {
	Context *ctx;
	std::vector<std::function<void()>> work;
};

// stream_of returns stream s, or the device's default stream if s is zero.
Stream *stream_of(CUstream s) {
	if (s) return (Stream *)s;
	static std::mutex mu;
	static Stream *first[devices];
	std::lock_guard<std::mutex> lock(mu);
	int d = current ? current->device : 0;
	if (!first[d]) first[d] = new Stream(&contexts[d]);
	return first[d];
}

struct Module {
	void *lib;
	void (*launch)(void (*)(const void *), const void *, const unsigned *, const unsigned *);
	uint64_t *(*translate)(void);
};

struct Function {
	Module *module;
	void (*entry)(const void *);
	size_t args;
};

// elf_size returns the size in bytes of a shared library in memory.
size_t elf_size(const void *image) {
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG)) return 0;
	return h->e_shoff + size_t(h->e_shnum) * h->e_shentsize;
}

} // namespace

#define CHECK_CONTEXT \
	do { \
		if (failure) return (CUresult)failure.load(); \
		if (!current) return CUDA_ERROR_INVALID_CONTEXT; \
	} while (0)

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *v) {
	*v = 12040;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *n) {
	*n = devices;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int i) {
	if (i < 0 || i >= devices) return CUDA_ERROR_INVALID_DEVICE;
	*d = i;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int n, CUdevice d) {
	snprintf(name, n, "imitation %d", d);
	return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
	*bytes = capacity;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice) {
	switch (a) {
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 8; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = 0; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 2; break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *v = 1; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
	default: *v = 0;
	}
	return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
	*can = a != b;
	return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext c, unsigned) {
	CHECK_CONTEXT;
	return (Context *)c == current ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
	if (d < 0 || d >= devices) return CUDA_ERROR_INVALID_DEVICE;
	*c = (CUcontext)&contexts[d];
	return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext c) {
	current = (Context *)c;
	return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext *c) {
	*c = (CUcontext)current;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *s, unsigned) {
	CHECK_CONTEXT;
	*s = (CUstream) new Stream(current);
	return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream s) {
	CHECK_CONTEXT;
	if (stream_of(s)->refuses()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	auto m = std::make_shared<Mark>();
	stream_of(s)->put([m] { m->reach(); });
	m->wait();
	return (CUresult)failure.load();
}
CUresult cuStreamDestroy(CUstream s) {
	Stream *x = (Stream *)s;
	{
		std::lock_guard<std::mutex> lock(x->mu);
		x->shut = true;
	}
	x->cond.notify_one();
	x->worker.join();
	delete x;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *e, unsigned) {
	CHECK_CONTEXT;
	*e = (CUevent) new Event;
	return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent e) {
	delete (Event *)e;
	return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream s) {
	CHECK_CONTEXT;
	Stream *x = stream_of(s);
	if (x->ctx != current) return CUDA_ERROR_INVALID_HANDLE;
	// The real driver supports it; gomx does not need it
	if (x->refuses()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	auto m = std::make_shared<Mark>();
	{
		std::lock_guard<std::mutex> lock(((Event *)e)->mu);
		((Event *)e)->mark = m;
	}
	x->put([m] { m->reach(); });
	return CUDA_SUCCESS;
}
static std::shared_ptr<Mark> mark_of(CUevent e) {
	std::lock_guard<std::mutex> lock(((Event *)e)->mu);
	return ((Event *)e)->mark;
}
CUresult cuEventQuery(CUevent e) {
	if (failure) return (CUresult)failure.load();
	auto m = mark_of(e);
	return !m || m->is() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent e) {
	if (auto m = mark_of(e)) m->wait();
	return (CUresult)failure.load();
}
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
	CHECK_CONTEXT;
	if (stream_of(s)->refuses()) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (auto m = mark_of(e)) stream_of(s)->put([m] { m->wait(); });
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode) {
	CHECK_CONTEXT;
	if (!s) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	Stream *x = (Stream *)s;
	std::lock_guard<std::mutex> lock(x->mu);
	if (x->captures) return CUDA_ERROR_ILLEGAL_STATE;
	x->captures = true, x->spoiled = false;
	x->remembered.clear();
	return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) {
	CHECK_CONTEXT;
	Stream *x = (Stream *)s;
	std::lock_guard<std::mutex> lock(x->mu);
	*g = nullptr;
	if (!x->captures) return CUDA_ERROR_ILLEGAL_STATE;
	x->captures = false;
	if (x->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	*g = (CUgraph) new Graph{x->ctx, std::move(x->remembered)};
	return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long) {
	CHECK_CONTEXT;
	*e = (CUgraphExec) new std::shared_ptr<Graph>(new Graph(*(Graph *)g));
	return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph g) {
	delete (Graph *)g;
	return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec e) {
	delete (std::shared_ptr<Graph> *)e;
	return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec e, CUstream s) {
	CHECK_CONTEXT;
	auto g = *(std::shared_ptr<Graph> *)e;
	if (stream_of(s)->ctx != current || g->ctx != current) return CUDA_ERROR_INVALID_HANDLE;
	stream_of(s)->put([g] {
		for (auto &f : g->work) f();
	});
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *p, size_t bytes) {
	CHECK_CONTEXT;
	return take(p, bytes);
}
CUresult cuMemFree(CUdeviceptr p) {
	CHECK_CONTEXT;
	return give(p);
}
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream) {
	CHECK_CONTEXT;
	return take(p, bytes);
}
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s) {
	CHECK_CONTEXT;
	if (!within(p, 1)) return CUDA_ERROR_INVALID_VALUE;
	stream_of(s)->put([p] { give(p); });
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice d) {
	*pool = (CUmemoryPool)&contexts[d];
	return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void *) { return CUDA_SUCCESS; }
CUresult cuMemGetInfo(size_t *free, size_t *total) {
	CHECK_CONTEXT;
	std::lock_guard<std::mutex> lock(memory_mu);
	*free = capacity - in_use, *total = capacity;
	return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned) {
	CHECK_CONTEXT;
	if (posix_memalign(p, 4096, bytes ? bytes : 1)) return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *p) {
	free(p);
	return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	if (!within(dst, bytes) || is_device((uint64_t)src)) return CUDA_ERROR_INVALID_VALUE;
	stream_of(s)->put([=] { memcpy(host(dst), src, bytes); });
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	if (!within(src, bytes) || is_device((uint64_t)dst)) return CUDA_ERROR_INVALID_VALUE;
	stream_of(s)->put([=] { memcpy(dst, host(src), bytes); });
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	if (!within(src, bytes) || !within(dst, bytes)) return CUDA_ERROR_INVALID_VALUE;
	stream_of(s)->put([=] { memmove(host(dst), host(src), bytes); });
	return CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext, CUdeviceptr src, CUcontext, size_t bytes,
	CUstream s) {
	return cuMemcpyDtoDAsync(dst, src, bytes, s);
}
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream s) {
	CHECK_CONTEXT;
	if (!within(dst, n)) return CUDA_ERROR_INVALID_VALUE;
	stream_of(s)->put([=] { memset(host(dst), v, n); });
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *mod, const void *image) {
	CHECK_CONTEXT;
	size_t size = elf_size(image);
	if (!size) return CUDA_ERROR_INVALID_IMAGE;
	int fd = memfd_create("module", 0);
	for (size_t at = 0; at < size;) {
		ssize_t n = write(fd, (const char *)image + at, size - at);
		if (n <= 0) return CUDA_ERROR_OUT_OF_MEMORY;
		at += n;
	}
	std::string path = "/proc/self/fd/" + std::to_string(fd);
	void *lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
	if (!lib) fprintf(stderr, "imitated driver: %s\n", dlerror());
	// The descriptor stays open: the loader tells libraries apart by their names.
	if (!lib) return CUDA_ERROR_INVALID_IMAGE;
	Module *m = new Module{lib, nullptr, nullptr};
	m->launch = (void (*)(void (*)(const void *), const void *, const unsigned *,
		const unsigned *))dlsym(lib, "gx_host_launch");
	if (!m->launch) return CUDA_ERROR_INVALID_IMAGE;
	*mod = (CUmodule)m;
	return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule m) {
	delete (Module *)m;
	return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule mod, const char *name) {
	Module *m = (Module *)mod;
	void *entry = dlsym(m->lib, name);
	size_t *args = (size_t *)dlsym(m->lib, (std::string("gx_args_") + name).c_str());
	if (!entry || !args) return CUDA_ERROR_NOT_FOUND;
	*f = (CUfunction) new Function{m, (void (*)(const void *))entry, *args};
	return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned, CUstream s, void **params,
                        void **) {
	CHECK_CONTEXT;
	if (!gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || bx * by * bz > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream_of(s)->ctx != current) return CUDA_ERROR_INVALID_HANDLE;
	Function *f = (Function *)fn;
	std::vector<uint64_t> args(f->args / 8);
	memcpy(args.data(), params[0], f->args);
	for (auto &v : args)
		if (is_device(v)) v = (uint64_t)host(v);
	stream_of(s)->put([=] {
		unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
		f->module->launch(f->entry, args.data(), grid, block);
	});
	return CUDA_SUCCESS;
}

// Functions for the imitated libraries: work on a stream, and the host address of a device
// address.
void gx_fake_put(void *stream, void (*f)(const void *), const void *arg, size_t bytes) {
	std::vector<uint64_t> copy((bytes + 7) / 8);
	memcpy(copy.data(), arg, bytes);
	stream_of((CUstream)stream)->put([=] { f(copy.data()); });
}
void *gx_fake_host(void *p) { return is_device((uint64_t)p) ? host((uint64_t)p) : p; }

CUresult cuGetErrorName(CUresult e, const char **s) {
	static thread_local char text[64];
	snprintf(text, sizeof text, "CUDA_ERROR_%d", (int)e);
	*s = text;
	return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult e, const char **s) {
	switch (e) {
	case CUDA_ERROR_OUT_OF_MEMORY: *s = "out of memory"; break;
	case CUDA_ERROR_INVALID_VALUE: *s = "invalid argument"; break;
	case CUDA_ERROR_INVALID_CONTEXT: *s = "invalid device context"; break;
	case CUDA_ERROR_INVALID_IMAGE: *s = "device kernel image is invalid"; break;
	case CUDA_ERROR_NOT_FOUND: *s = "named symbol not found"; break;
	case CUDA_ERROR_NOT_READY: *s = "device not ready"; break;
	default: *s = "an error";
	}
	return CUDA_SUCCESS;
}

} // extern "C"
