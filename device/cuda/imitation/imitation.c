//go:build cuda

#include "imitation.h"

#include <dlfcn.h>
#include <pthread.h>

static void *symbol(const char *name) {
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return lib ? dlsym(lib, name) : 0;
}

int gx_present(void) { return symbol("gx_fake_seed") != 0; }

int gx_strict(void) { return ((int (*)(void))symbol("gx_fake_strict"))(); }

void gx_seed(unsigned long long seed) {
	((void (*)(unsigned long long))symbol("gx_fake_seed"))(seed);
}

void gx_collect(int on) { ((void (*)(int))symbol("gx_fake_collect"))(on); }

size_t gx_reports(char *to, size_t n) {
	return ((size_t (*)(char *, size_t))symbol("gx_fake_reports"))(to, n);
}

void gx_fail(const char *call, long nth, int code) {
	((void (*)(const char *, long, int))symbol("gx_fake_fail"))(call, nth, code);
}

void gx_break(int code) { ((void (*)(int))symbol("gx_fake_break"))(code); }

long gx_calls(const char *call) { return ((long (*)(const char *))symbol("gx_fake_calls"))(call); }

int gx_decode(const char *text) { return ((int (*)(const char *))symbol("gx_fake_decode"))(text); }

static void *bare(void *event) {
	int (*sync)(void *) = (int (*)(void *))symbol("cuEventSynchronize");
	return (void *)(long)sync(event);
}

int gx_bare_wait(void *event) {
	pthread_t t;
	void *code = (void *)-1L;
	if (!pthread_create(&t, 0, bare, event)) pthread_join(t, &code);
	return (int)(long)code;
}
