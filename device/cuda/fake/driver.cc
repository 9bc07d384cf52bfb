// An imitated driver without a GPU: libcuda.so.1 for tests. Devices use the memory and the
// processor of this process (memory.h); streams work asynchronously and events order them
// (streams.h); a module is a shared library that the imitated compiler (nvrtc.cc) has made from
// CUDA C, whose launches launch.h runs.
//
// A copy out of bounds or of freed memory, and a call without a context, return an error. With a
// seed the imitation is strict, see strict.h.

#include <dlfcn.h>

#include "launch.h"

namespace {

thread_local Context *current = nullptr;
thread_local int recording = 0; // captures that this thread has begun and not ended

std::atomic<int> failure{0}; // error that every later call returns, as on a GPU after a fault

std::mutex peers_mu;
bool peers[devices][devices];  // [a][b]: kernels of a may use the memory of b
bool shared[devices][devices]; // [a][b]: the memory pool of a is open to b

// stream_of returns stream s, or the device's default stream if s is zero.
Stream *stream_of(CUstream s) {
	if (s) return (Stream *)s;
	static std::mutex mu;
	static Stream *first[devices];
	std::lock_guard<std::mutex> lock(mu);
	int d = current ? current->device : 0;
	if (!first[d]) executor().add(first[d] = new Stream{&contexts[d]});
	return first[d];
}

} // namespace

// COUNT begins every call: tests count calls, and let some fail.
#define COUNT \
	do { \
		if (int code = calls.count(__func__)) return (CUresult)code; \
	} while (0)
#define CHECK_CONTEXT \
	do { \
		COUNT; \
		if (failure) return (CUresult)failure.load(); \
		if (!current) return CUDA_ERROR_INVALID_CONTEXT; \
	} while (0)

// alive reports a copy of memory that has been freed before the copy ran.
static bool alive(const char *what, CUdeviceptr p, size_t bytes) {
	if (!strict() || within(p, bytes)) return true;
	report("%s: the memory was freed before the stream used it", what);
	return false;
}

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *v) {
	*v = 12040;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int *n) {
	*n = visible;
	return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int i) {
	if (i < 0 || i >= visible) return CUDA_ERROR_INVALID_DEVICE;
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
	// A compute capability that NVRTC does not know yet makes it write PTX, which ptxrun.h
	// interprets.
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = getenv("GX_FAKE_PTX") ? 99 : 8; break;
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
	if ((Context *)c == current) return CUDA_ERROR_INVALID_CONTEXT;
	std::lock_guard<std::mutex> lock(peers_mu);
	bool &on = peers[current->device][((Context *)c)->device];
	if (on) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	on = true;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) {
	if (d < 0 || d >= visible) return CUDA_ERROR_INVALID_DEVICE;
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
	Stream *x = new Stream{current};
	executor().add(x);
	*s = (CUstream)x;
	return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream s) {
	CHECK_CONTEXT;
	if (executor().refuses(stream_of(s))) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	executor().wait(executor().put_mark(stream_of(s)));
	return (CUresult)failure.load();
}
CUresult cuStreamDestroy(CUstream s) {
	CHECK_CONTEXT;
	executor().remove((Stream *)s);
	delete (Stream *)s;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *e, unsigned) {
	CHECK_CONTEXT;
	*e = (CUevent) new Event;
	return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent e) {
	CHECK_CONTEXT;
	delete (Event *)e;
	return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream s) {
	CHECK_CONTEXT;
	Stream *x = stream_of(s);
	if (x->ctx != current) return CUDA_ERROR_INVALID_HANDLE;
	// The real driver supports it; gomx does not need it
	if (executor().refuses(x)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	auto m = executor().put_mark(x);
	std::lock_guard<std::mutex> lock(((Event *)e)->mu);
	((Event *)e)->mark = m;
	return CUDA_SUCCESS;
}
static std::shared_ptr<Mark> mark_of(CUevent e) {
	std::lock_guard<std::mutex> lock(((Event *)e)->mu);
	return ((Event *)e)->mark;
}
CUresult cuEventQuery(CUevent e) {
	CHECK_CONTEXT;
	auto m = mark_of(e);
	return !m || executor().is(m) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuEventSynchronize(CUevent e) {
	CHECK_CONTEXT;
	if (auto m = mark_of(e)) executor().wait(m);
	return (CUresult)failure.load();
}
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
	CHECK_CONTEXT;
	if (executor().refuses(stream_of(s))) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (auto m = mark_of(e)) executor().put_wait(stream_of(s), m);
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode) {
	CHECK_CONTEXT;
	if (!s) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	Stream *x = (Stream *)s;
	std::lock_guard<std::mutex> lock(executor().mu);
	if (x->captures) return CUDA_ERROR_ILLEGAL_STATE;
	x->captures = true, x->spoiled = false;
	x->remembered.clear();
	recording++;
	return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) {
	CHECK_CONTEXT;
	Stream *x = (Stream *)s;
	std::lock_guard<std::mutex> lock(executor().mu);
	*g = nullptr;
	if (!x->captures) return CUDA_ERROR_ILLEGAL_STATE;
	x->captures = false;
	recording--;
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
	CHECK_CONTEXT;
	delete (std::shared_ptr<Graph> *)e;
	return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec e, CUstream s) {
	CHECK_CONTEXT;
	auto g = *(std::shared_ptr<Graph> *)e;
	if (stream_of(s)->ctx != current || g->ctx != current) return CUDA_ERROR_INVALID_HANDLE;
	executor().put(stream_of(s), [g] {
		for (auto &f : g->work) f();
	});
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *p, size_t bytes) {
	CHECK_CONTEXT;
	return take(p, bytes, current->device);
}
CUresult cuMemFree(CUdeviceptr p) {
	CHECK_CONTEXT;
	return give(p);
}
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t bytes, CUstream) {
	CHECK_CONTEXT;
	return take(p, bytes, current->device);
}
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s) {
	CHECK_CONTEXT;
	if (!within(p, 1)) return CUDA_ERROR_INVALID_VALUE;
	executor().put(stream_of(s), [p] { give(p); });
	return CUDA_SUCCESS;
}
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice d) {
	*pool = (CUmemoryPool)&contexts[d];
	return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t n) {
	COUNT;
	int owner = (Context *)pool - contexts;
	std::lock_guard<std::mutex> lock(peers_mu);
	for (size_t i = 0; i < n; i++) {
		int user = list[i].location.id;
		if (user < 0 || user >= visible || list[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_INVALID_VALUE;
		shared[owner][user] = list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
	}
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
	executor().put(stream_of(s), [=] {
		if (alive("cuMemcpyHtoDAsync", dst, bytes)) memcpy(host(dst), src, bytes);
	});
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	if (!within(src, bytes) || is_device((uint64_t)dst)) return CUDA_ERROR_INVALID_VALUE;
	executor().put(stream_of(s), [=] {
		if (alive("cuMemcpyDtoHAsync", src, bytes)) memcpy(dst, host(src), bytes);
	});
	return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	if (!within(src, bytes) || !within(dst, bytes)) return CUDA_ERROR_INVALID_VALUE;
	executor().put(stream_of(s), [=] {
		if (alive("copy between arrays", src, bytes) && alive("copy between arrays", dst, bytes))
			memmove(host(dst), host(src), bytes);
	});
	return CUDA_SUCCESS;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
	size_t bytes, CUstream s) {
	CHECK_CONTEXT;
	int to = -1, from = -1;
	if (!within(src, bytes, &from) || !within(dst, bytes, &to)) return CUDA_ERROR_INVALID_VALUE;
	if (((Context *)dst_ctx)->device != to || ((Context *)src_ctx)->device != from)
		return CUDA_ERROR_INVALID_VALUE;
	if (strict() && to != from) {
		std::lock_guard<std::mutex> lock(peers_mu);
		if (!shared[from][to] || !shared[to][from]) {
			report("cuMemcpyPeerAsync: the memory pools of devices %d and %d are not open to each "
				"other", to, from);
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	executor().put(stream_of(s), [=] {
		if (alive("copy between arrays", src, bytes) && alive("copy between arrays", dst, bytes))
			memmove(host(dst), host(src), bytes);
	});
	return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream s) {
	CHECK_CONTEXT;
	if (!within(dst, n)) return CUDA_ERROR_INVALID_VALUE;
	executor().put(stream_of(s), [=] {
		if (alive("cuMemsetD8Async", dst, n)) memset(host(dst), v, n);
	});
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *mod, const void *image) {
	CHECK_CONTEXT;
	if (!memcmp(image, "//", 2) || !memcmp(image, ".version", 8)) {
		try {
			auto p = std::make_shared<ptx::Program>(ptx::Decoder().decode((const char *)image));
			*mod = (CUmodule) new Module{nullptr, nullptr, p};
			return CUDA_SUCCESS;
		} catch (const std::exception &e) {
			fprintf(stderr, "imitated driver: PTX: %s\n", e.what());
			return CUDA_ERROR_INVALID_PTX;
		}
	}
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
	Module *m = new Module{lib, (void (*)(const gx_host_run *))dlsym(lib, "gx_host_launch"),
		nullptr};
	auto setup = (void (*)(const gx_host_site *))dlsym(lib, "gx_host_setup");
	if (!m->launch || !setup) return CUDA_ERROR_INVALID_IMAGE;
	open_memory();
	gx_host_site site = {real, region, shadow, report};
	setup(&site);
	*mod = (CUmodule)m;
	return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule m) {
	delete (Module *)m;
	return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule mod, const char *name) {
	Module *m = (Module *)mod;
	if (m->program) {
		auto found = m->program->functions.find(name);
		if (found == m->program->functions.end() || !found->second.entry) return CUDA_ERROR_NOT_FOUND;
		const ptx::Function &code = found->second;
		*f = (CUfunction) new Function{m, nullptr, code.formals.empty() ? 0 : code.formals[0].size,
			name, &code};
		return CUDA_SUCCESS;
	}
	void *entry = dlsym(m->lib, name);
	size_t *args = (size_t *)dlsym(m->lib, (std::string("gx_args_") + name).c_str());
	if (!entry || !args) return CUDA_ERROR_NOT_FOUND;
	*f = (CUfunction) new Function{m, (void (*)(const void *))entry, *args, name};
	return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction f, size_t index, size_t *offset, size_t *size) {
	CHECK_CONTEXT;
	if (index > 0) return CUDA_ERROR_INVALID_VALUE;
	*offset = 0, *size = ((Function *)f)->args;
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
	gx_host_run r = {};
	unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	memcpy(r.grid, grid, sizeof grid), memcpy(r.block, block, sizeof block);
	r.device = current->device;
	executor().put(stream_of(s), [=] {
		if (!failure) run_kernel(f, r, args);
	});
	return CUDA_SUCCESS;
}

// Functions for the imitated libraries: work on a stream, and the host address of a device
// address.
void gx_fake_put(void *stream, void (*f)(const void *), const void *arg, size_t bytes) {
	std::vector<uint64_t> copy((bytes + 7) / 8);
	memcpy(copy.data(), arg, bytes);
	executor().put(stream_of((CUstream)stream), [=] { f(copy.data()); });
}
// gx_fake_device returns the device of a stream, which is not the default stream.
int gx_fake_device(void *stream) { return ((Stream *)stream)->ctx->device; }
// gx_fake_mark marks the end of a stream, and gx_fake_wait lets another stream wait for a mark.
void *gx_fake_mark(void *stream) {
	return new std::shared_ptr<Mark>(executor().put_mark((Stream *)stream));
}
void gx_fake_wait(void *stream, void *mark) {
	executor().put_wait((Stream *)stream, *(std::shared_ptr<Mark> *)mark);
}
void gx_fake_forget(void *mark) { delete (std::shared_ptr<Mark> *)mark; }
// gx_fake_holds reports whether bytes from p on lie in one array of a device.
int gx_fake_holds(int device, void *p, size_t bytes) {
	int at = -1;
	return within((uint64_t)p, bytes, &at) && at == device;
}
// gx_fake_opens reports whether the memory pool of device owner is open to device user.
int gx_fake_opens(int owner, int user) {
	std::lock_guard<std::mutex> lock(peers_mu);
	return owner == user || shared[owner][user];
}
int gx_fake_visible() { return visible; }
// gx_fake_count counts a call of an imitated library, and returns the error that it shall have.
int gx_fake_count(const char *name) { return calls.count(name); }
void gx_fake_report(const char *text) { report("%s", text); }
// gx_fake_decode reports whether a text is PTX that the interpreter knows.
int gx_fake_decode(const char *text) {
	try {
		ptx::Decoder().decode(text);
		return 1;
	} catch (const std::exception &) {
		return 0;
	}
}
// gx_fake_strict reports whether kernels are checked, see nvrtc.cc.
int gx_fake_strict() { return getenv("GX_FAKE_SEED") != nullptr; }
// gx_fake_recording reports whether this thread is recording a stream.
int gx_fake_recording() { return recording; }

// Functions for tests. gx_fake_seed makes the imitation strict, 0 lenient; gx_fake_collect lets it
// collect reports instead of ending the process; gx_fake_reports copies and forgets them.
void gx_fake_seed(uint64_t s) {
	std::lock_guard<std::mutex> lock(executor().mu);
	seed = s, executor().random.state = s, executor().until_change = 0;
}
void gx_fake_collect(int on) {
	std::lock_guard<std::mutex> lock(report_mu);
	collects = on, reports.clear();
}
size_t gx_fake_reports(char *to, size_t n) {
	{
		std::lock_guard<std::mutex> lock(memory_mu);
		for (auto &k : kept) check_kept(k.first, k.second);
	}
	std::lock_guard<std::mutex> lock(report_mu);
	n = std::min(n - 1, reports.size());
	memcpy(to, reports.data(), n), to[n] = 0;
	reports.clear();
	return n;
}
// gx_fake_fail lets the nth call with a name from now on return an error code.
// gx_fake_break makes the device fail: every later call returns the code, 0 ends that.
void gx_fake_fail(const char *name, long nth, int code) {
	std::lock_guard<std::mutex> lock(calls.mu);
	calls.fails = name, calls.countdown = nth, calls.code = code;
}
void gx_fake_break(int code) { failure = code; }
long gx_fake_calls(const char *name) {
	std::lock_guard<std::mutex> lock(calls.mu);
	auto c = calls.made.find(name);
	return c == calls.made.end() ? 0 : c->second;
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
