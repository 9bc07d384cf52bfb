//go:build cgo

package update

import (
	"unsafe"

	"gomx/device/cpu"
)

// addFloats writes a + b to dst, which may be a, for float32 values, and reports whether it did:
// short and unaligned ones are left to ps.Plain, which computes the same bits.
func addFloats(dst, a, b []byte) bool {
	if len(dst) < 1024 {
		return false
	}
	d, x, y := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)),
		unsafe.Pointer(unsafe.SliceData(b))
	if (uintptr(d)|uintptr(x)|uintptr(y))%4 != 0 {
		return false
	}
	cpu.Zip{Op: cpu.Add, Threads: 1}.Run(d, x, y, len(dst)/4)
	return true
}

// stream copies src to dst past the caches.
func stream(dst, src []byte) { cpu.CopyPast(dst, src) }
