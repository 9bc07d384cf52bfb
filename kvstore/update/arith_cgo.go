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

// sumFloats implements ring.Arithmetic.Sum for float32 values and reports whether it did: short and
// unaligned ones, and sums of many parts, are left to ring.Plain, which computes the same bits.
func sumFloats(dst, out []byte, parts [][]byte) bool {
	if len(dst) < 1024 || len(parts) > cpu.MaxParts {
		return false
	}
	var list [cpu.MaxParts][]float32
	for i, p := range parts {
		if !aligned(p) {
			return false
		}
		list[i] = Floats(p)
	}
	if !aligned(dst) || !aligned(out) {
		return false
	}
	cpu.SumParts(Floats(dst), Floats(out), list[:len(parts)])
	return true
}

// aligned reports whether bytes begin where a float32 may.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 == 0 }

// stream copies src to dst past the caches.
func stream(dst, src []byte) { cpu.CopyPast(dst, src) }
