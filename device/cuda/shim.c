//go:build cuda

// A program that links the driver's library does not start on a machine without it. This file
// replaces the library at link time and opens it at run time; without the library there are no
// devices, and every other function returns CUDA_ERROR_STUB_LIBRARY. The binding links with -lcuda:
// the linker finds lib/libcuda.a, an empty archive.

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bridge.h"

enum { absent = 34 };

static int gcu_absent(void) { return absent; }

#define GX_DRIVER(name) void *gcu_ptr_##name __attribute__((visibility("hidden"))) = (void *)gcu_absent;
#include "shim_names.h"
#undef GX_DRIVER

static char gcu_reason[512] = "the driver has not been asked yet";
static int gcu_found;
static int (*real_init)(unsigned);
static int (*real_count)(int *);
static int (*real_version)(int *);

__attribute__((constructor)) static void gcu_open(void) {
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		const char *why = dlerror();
		snprintf(gcu_reason, sizeof gcu_reason, "%s", why ? why : "libcuda.so.1 cannot be opened");
		return;
	}
	real_init = (int (*)(unsigned))dlsym(lib, "cuInit");
	real_count = (int (*)(int *))dlsym(lib, "cuDeviceGetCount");
	real_version = (int (*)(int *))dlsym(lib, "cuDriverGetVersion");
	if (!real_init || !real_count || !real_version) {
		snprintf(gcu_reason, sizeof gcu_reason, "libcuda.so.1 is not a driver");
		return;
	}
	void *f;
#define GX_DRIVER(name) \
	if ((f = dlsym(lib, #name))) gcu_ptr_##name = f;
#include "shim_names.h"
#undef GX_DRIVER
	gcu_found = 1;
}

// cuInit never fails: the binding ends the process when it does.
int cuInit(unsigned flags) {
	if (!gcu_found) return 0;
	int err = real_init(flags);
	if (err) {
		const char *text = 0;
		if (gcu_ptr_cuGetErrorString != (void *)gcu_absent)
			((int (*)(int, const char **))gcu_ptr_cuGetErrorString)(err, &text);
		snprintf(gcu_reason, sizeof gcu_reason, "cuInit: error %d, %s", err,
			text ? text : "unknown");
		gcu_found = 0;
	} else {
		gcu_reason[0] = 0;
	}
	return 0;
}

int cuDeviceGetCount(int *n) {
	*n = 0;
	return gcu_found ? real_count(n) : 0;
}

int cuDriverGetVersion(int *v) {
	*v = 0;
	return gcu_found ? real_version(v) : 0;
}

const char *gcu_why_not(void) { return gcu_reason; }
