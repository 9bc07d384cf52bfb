//go:build cuda

#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *gcu_dlopen(const char *name, char *why, size_t n) {
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		const char *text = dlerror();
		snprintf(why, n, "%s", text ? text : name);
	}
	return lib;
}

// LOAD sets one pointer and returns if the function is missing. Pointers of optional functions stay
// zero.
#define LOAD(name) \
	if (!(f->name = dlsym(lib, "nvrtc" #name))) { \
		*missing = "nvrtc" #name; \
		return 1; \
	}

int gcu_nvrtc_load(void *lib, gcu_nvrtc *f, const char **missing) {
	LOAD(Version)
	LOAD(CreateProgram)
	LOAD(CompileProgram)
	LOAD(GetProgramLogSize)
	LOAD(GetProgramLog)
	LOAD(DestroyProgram)
	LOAD(GetErrorString)
	f->GetNumSupportedArchs = dlsym(lib, "nvrtcGetNumSupportedArchs");
	f->GetSupportedArchs = dlsym(lib, "nvrtcGetSupportedArchs");
	f->GetCUBINSize = dlsym(lib, "nvrtcGetCUBINSize");
	f->GetCUBIN = dlsym(lib, "nvrtcGetCUBIN");
	f->GetPTXSize = dlsym(lib, "nvrtcGetPTXSize");
	f->GetPTX = dlsym(lib, "nvrtcGetPTX");
	return 0;
}

int gcu_nvrtc_version(gcu_nvrtc *f, int *major, int *minor) { return f->Version(major, minor); }

// gcu_nvrtc_archs lists the architectures that the compiler supports and returns their number.
int gcu_nvrtc_archs(gcu_nvrtc *f, int *list, int most) {
	int n = 0, all[256];
	if (!f->GetNumSupportedArchs || !f->GetSupportedArchs || f->GetNumSupportedArchs(&n) ||
		n > 256 || f->GetSupportedArchs(all))
		return 0;
	if (n > most) n = most;
	memcpy(list, all, n * sizeof *list);
	return n;
}

static void get_log(gcu_nvrtc *f, void *prog, char **log) {
	size_t n = 0;
	*log = 0;
	if (f->GetProgramLogSize(prog, &n) || n == 0) return;
	if (!(*log = calloc(n + 1, 1))) return;
	if (f->GetProgramLog(prog, *log)) **log = 0;
}

int gcu_nvrtc_compile(gcu_nvrtc *f, const char *source, const char *name, int options,
	const char **option, int cubin, char **out, size_t *size, char **log) {
	void *prog = 0;
	*out = 0, *log = 0, *size = 0;
	int err = f->CreateProgram(&prog, source, name, 0, 0, 0);
	if (err) return err;
	err = f->CompileProgram(prog, options, option);
	get_log(f, prog, log);
	int (*length)(void *, size_t *) = cubin ? f->GetCUBINSize : f->GetPTXSize;
	int (*get)(void *, char *) = cubin ? f->GetCUBIN : f->GetPTX;
	if (!err && (!length || !get)) err = -1;
	if (!err) err = length(prog, size);
	if (!err) {
		*out = calloc(*size + 1, 1);
		err = *out ? get(prog, *out) : -1;
	}
	f->DestroyProgram(&prog);
	return err;
}

const char *gcu_nvrtc_text(gcu_nvrtc *f, int code) {
	return code < 0 ? "the library lacks a function or memory is out" : f->GetErrorString(code);
}
