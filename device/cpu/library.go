//go:build cgo && !nodnn

package cpu

/*
#include <dnnl.h>
*/
import "C"

import (
	"fmt"
	"sync"
)

// Library names the library behind convolutions and matrix products, with its version.
func Library() string {
	v := C.dnnl_version()
	return fmt.Sprintf("oneDNN %d.%d.%d", v.major, v.minor, v.patch)
}

// HasBFloat16 reports whether the library multiplies bfloat16 numbers by instructions of the
// processor. Elsewhere it does so by many others, or not at all.
var HasBFloat16 = sync.OnceValue(func() bool {
	const want = C.dnnl_cpu_isa_avx512_core_bf16
	return C.dnnl_get_effective_cpu_isa()&want == want
})

// Instructions names the instructions for bfloat16 that the library uses, under the limit that
// ONEDNN_MAX_CPU_ISA sets: "amx", "avx512_bf16", or "" for none.
func Instructions() string {
	const amx = C.dnnl_cpu_isa_avx512_core_amx
	switch isa := C.dnnl_get_effective_cpu_isa(); {
	case isa&amx == amx:
		return "amx"
	case HasBFloat16():
		return "avx512_bf16"
	}
	return ""
}
