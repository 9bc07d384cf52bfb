//go:build cuda

// Each function of the driver jumps to where its pointer leads: into libcuda.so.1 where there is one, to a function that says so where there is not.
// Hidden, so that libraries that look for the driver find the real one.

#if defined(__x86_64__)
#define GX_DRIVER(name) .globl name; .hidden name; .type name, @function; name: jmp *gcu_ptr_##name(%rip); .size name, .-name
#elif defined(__aarch64__)
#define GX_DRIVER(name) .globl name; .hidden name; .type name, %function; name: adrp x16, gcu_ptr_##name; ldr x16, [x16, :lo12:gcu_ptr_##name]; br x16; .size name, .-name
#else
#error "the bridge to the driver knows x86-64 and arm64"
#endif

	.text
#include "shim_names.h"

	.section .note.GNU-stack,"",@progbits
