//go:build cgo

package cpu

/*
#include "gx.h"

#cgo noescape gx_copy_out
#cgo nocallback gx_copy_out

static void gx_copy_out(void *d, const void *s, size_t n) {
	gx_copy_past(d, s, n);
	gx_streamed();
}
*/
import "C"

import "unsafe"

// CopyPast copies src to dst, which must be as long and must not overlap it. What it writes goes
// past the caches: for memory that is larger than they are, and is not read soon.
func CopyPast(dst, src []byte) {
	if len(dst) != len(src) {
		panic("cpu: CopyPast between memory of different lengths")
	}
	if len(src) == 0 {
		return
	}
	C.gx_copy_out(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)),
		C.size_t(len(src)))
}
