//go:build cuda

// Libraries that are opened at run time: the compiler NVRTC and cuBLAS. The prototypes are declared
// here, so NVIDIA's headers are not needed.

#ifndef GX_LIBRARY_H
#define GX_LIBRARY_H

#include <stddef.h>

void *gcu_dlopen(const char *name, char *why, size_t n);

// The compiler of CUDA C.
typedef struct {
	int (*Version)(int *, int *);
	int (*GetNumSupportedArchs)(int *);
	int (*GetSupportedArchs)(int *);
	int (*CreateProgram)(void **, const char *, const char *, int, const char *const *,
		const char *const *);
	int (*CompileProgram)(void *, int, const char *const *);
	int (*GetCUBINSize)(void *, size_t *);
	int (*GetCUBIN)(void *, char *);
	int (*GetPTXSize)(void *, size_t *);
	int (*GetPTX)(void *, char *);
	int (*GetProgramLogSize)(void *, size_t *);
	int (*GetProgramLog)(void *, char *);
	int (*DestroyProgram)(void **);
	const char *(*GetErrorString)(int);
} gcu_nvrtc;

int gcu_nvrtc_load(void *lib, gcu_nvrtc *f, const char **missing);
int gcu_nvrtc_version(gcu_nvrtc *f, int *major, int *minor);
int gcu_nvrtc_archs(gcu_nvrtc *f, int *list, int most);

// gcu_nvrtc_compile returns an error code; the caller must free out and log.
int gcu_nvrtc_compile(gcu_nvrtc *f, const char *source, const char *name, int options,
	const char **option, int cubin, char **out, size_t *size, char **log);
const char *gcu_nvrtc_text(gcu_nvrtc *f, int code);

#endif
