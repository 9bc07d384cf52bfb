//go:build cuda

// Calls of the driver that the binding lacks, or that are too slow in it: they name their context,
// take no Go callback and allocate nothing. Every function returns the driver's error code.
// Pointers to contexts, streams, events and functions are the driver's handles.

#ifndef GX_BRIDGE_H
#define GX_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

const char *gcu_why_not(void);
const char *gcu_error_name(int code);
const char *gcu_error_text(int code);

int gcu_launch(void *ctx, void *fn, void *stream, unsigned gx, unsigned gy, unsigned bx,
	unsigned by, const uint64_t *args);
int gcu_record(void *ctx, void *event, void *stream);
int gcu_wait(void *ctx, void *stream, void *event);
int gcu_query(void *ctx, void *event);
int gcu_sync_event(void *ctx, void *event);
int gcu_sync_stream(void *ctx, void *stream);

int gcu_pooled(int device, int *has);
int gcu_keep_pool(int device);
int gcu_share_pool(int owner, int user);
int gcu_alloc(void *ctx, void *stream, size_t bytes, void **p);
int gcu_free(void *ctx, void *stream, void *p);
int gcu_alloc_pinned(void *ctx, size_t bytes, void **p);
int gcu_free_pinned(void *ctx, void *p);
int gcu_copy_in(void *ctx, void *stream, void *dst, const void *src, size_t bytes);
int gcu_copy_out(void *ctx, void *stream, void *dst, const void *src, size_t bytes);
int gcu_copy(void *ctx, void *stream, void *dst, const void *src, size_t bytes);
int gcu_copy_peer(void *ctx, void *stream, void *dst, const void *src, void *src_ctx, size_t bytes);
int gcu_set8(void *ctx, void *stream, void *dst, int value, size_t bytes);

// A recording: between the two calls the stream records its work instead of running it.
// gcu_record_end sets exec to a graph that can be launched, or returns an error and sets it to
// zero.
int gcu_record_begin(void *ctx, void *stream);
int gcu_record_end(void *ctx, void *stream, void **exec);
int gcu_replay(void *ctx, void *stream, void *exec);
int gcu_forget(void *ctx, void *exec);

// gcu_param_bytes sets bytes to the size of a kernel's parameter. Drivers before 12.4 return an
// error.
int gcu_param_bytes(void *ctx, void *fn, size_t *bytes);

int gcu_mem_info(void *ctx, size_t *free, size_t *total);

#endif
