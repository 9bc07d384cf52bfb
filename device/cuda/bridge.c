//go:build cuda

#include "bridge.h"

#include <cuda.h>

#define USE(ctx) \
	do { \
		CUresult set = cuCtxSetCurrent((CUcontext)(ctx)); \
		if (set) return set; \
	} while (0)

const char *gcu_error_name(int code) {
	const char *s = 0;
	if (cuGetErrorName((CUresult)code, &s) || !s) return "CUDA_ERROR";
	return s;
}

const char *gcu_error_text(int code) {
	const char *s = 0;
	if (cuGetErrorString((CUresult)code, &s) || !s) return code == 34 ? "the driver is missing or lacks this function" : "unknown error";
	return s;
}

int gcu_launch(void *ctx, void *fn, void *stream, unsigned gx, unsigned gy, unsigned bx,
	unsigned by, const uint64_t *args) {
	USE(ctx);
	void *params[1] = {(void *)args};
	return cuLaunchKernel((CUfunction)fn, gx, gy, 1, bx, by, 1, 0, (CUstream)stream, params, 0);
}

int gcu_record(void *ctx, void *event, void *stream) {
	USE(ctx);
	return cuEventRecord((CUevent)event, (CUstream)stream);
}

int gcu_wait(void *ctx, void *stream, void *event) {
	USE(ctx);
	return cuStreamWaitEvent((CUstream)stream, (CUevent)event, 0);
}

int gcu_query(void *ctx, void *event) {
	USE(ctx);
	return cuEventQuery((CUevent)event);
}

int gcu_sync_event(void *ctx, void *event) {
	USE(ctx);
	return cuEventSynchronize((CUevent)event);
}

int gcu_sync_stream(void *ctx, void *stream) {
	USE(ctx);
	return cuStreamSynchronize((CUstream)stream);
}

int gcu_pooled(int device, int *has) { return cuDeviceGetAttribute(has, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, device); }

// gcu_keep_pool lets the driver's pool keep freed memory: device.Pool decides when to release
// memory.
int gcu_keep_pool(int device) {
	CUmemoryPool pool;
	CUresult err = cuDeviceGetDefaultMemPool(&pool, device);
	if (err) return err;
	cuuint64_t most = ~(cuuint64_t)0;
	return cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most);
}

// gcu_share_pool lets device user read and write the memory of device owner's pool.
int gcu_share_pool(int owner, int user) {
	CUmemoryPool pool;
	CUresult err = cuDeviceGetDefaultMemPool(&pool, owner);
	if (err) return err;
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, user}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return cuMemPoolSetAccess(pool, &access, 1);
}

int gcu_alloc(void *ctx, void *stream, size_t bytes, void **p) {
	USE(ctx);
	CUdeviceptr d = 0;
	CUresult err = cuMemAllocAsync(&d, bytes, (CUstream)stream);
	if (!err) err = cuStreamSynchronize((CUstream)stream);
	*p = (void *)(uintptr_t)d;
	return err;
}

int gcu_free(void *ctx, void *stream, void *p) {
	USE(ctx);
	return cuMemFreeAsync((CUdeviceptr)(uintptr_t)p, (CUstream)stream);
}

int gcu_alloc_pinned(void *ctx, size_t bytes, void **p) {
	USE(ctx);
	return cuMemHostAlloc(p, bytes, CU_MEMHOSTALLOC_PORTABLE);
}

int gcu_free_pinned(void *ctx, void *p) {
	USE(ctx);
	return cuMemFreeHost(p);
}

int gcu_copy_in(void *ctx, void *stream, void *dst, const void *src, size_t bytes) {
	USE(ctx);
	return cuMemcpyHtoDAsync((CUdeviceptr)(uintptr_t)dst, src, bytes, (CUstream)stream);
}

int gcu_copy_out(void *ctx, void *stream, void *dst, const void *src, size_t bytes) {
	USE(ctx);
	return cuMemcpyDtoHAsync(dst, (CUdeviceptr)(uintptr_t)src, bytes, (CUstream)stream);
}

int gcu_copy(void *ctx, void *stream, void *dst, const void *src, size_t bytes) {
	USE(ctx);
	return cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, bytes, (CUstream)stream);
}

int gcu_copy_peer(void *ctx, void *stream, void *dst, const void *src, void *src_ctx, size_t bytes) {
	USE(ctx);
	return cuMemcpyPeerAsync((CUdeviceptr)(uintptr_t)dst, (CUcontext)ctx,
		 (CUdeviceptr)(uintptr_t)src, (CUcontext)src_ctx, bytes, (CUstream)stream);
}

int gcu_set8(void *ctx, void *stream, void *dst, int value, size_t bytes) {
	USE(ctx);
	return cuMemsetD8Async((CUdeviceptr)(uintptr_t)dst, (unsigned char)value, bytes, (CUstream)stream);
}

int gcu_record_begin(void *ctx, void *stream) {
	USE(ctx);
	return cuStreamBeginCapture((CUstream)stream, CU_STREAM_CAPTURE_MODE_RELAXED);
}

int gcu_record_end(void *ctx, void *stream, void **exec) {
	*exec = 0;
	USE(ctx);
	CUgraph graph = 0;
	CUgraphExec made = 0;
	CUresult err = cuStreamEndCapture((CUstream)stream, &graph);
	if (!err) err = cuGraphInstantiateWithFlags(&made, graph, 0);
	if (graph) cuGraphDestroy(graph);
	if (!err) *exec = made;
	return err;
}

int gcu_replay(void *ctx, void *stream, void *exec) {
	USE(ctx);
	return cuGraphLaunch((CUgraphExec)exec, (CUstream)stream);
}

int gcu_forget(void *ctx, void *exec) {
	USE(ctx);
	return cuGraphExecDestroy((CUgraphExec)exec);
}

// cuFuncGetParamInfo is not in headers before 12.4; drivers before 12.4 lack it.
CUresult cuFuncGetParamInfo(CUfunction fn, size_t index, size_t *offset, size_t *size);

int gcu_param_bytes(void *ctx, void *fn, size_t *bytes) {
	USE(ctx);
	size_t offset = 0;
	return cuFuncGetParamInfo((CUfunction)fn, 0, &offset, bytes);
}

int gcu_mem_info(void *ctx, size_t *free, size_t *total) {
	USE(ctx);
	return cuMemGetInfo(free, total);
}
