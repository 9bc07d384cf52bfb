//go:build cgo

package kvstore

import (
	"unsafe"

	"gomx/device/cpu"
)

// addFloats adds float32 values and reports whether it did: short and unaligned ones are left to
// ps.Plain, which computes the same bits.
func addFloats(dst, src []byte) bool {
	if len(dst) < 1024 {
		return false
	}
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	if (uintptr(d)|uintptr(s))%4 != 0 {
		return false
	}
	cpu.Zip{Op: cpu.Add, Threads: 1}.Run(d, d, s, len(dst)/4)
	return true
}
