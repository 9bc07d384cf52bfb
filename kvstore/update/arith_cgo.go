//go:build cgo

package update

import (
	"unsafe"

	"gomx/device/cpu"
)

// addFloats adds float32 values to dst and reports whether it did: short and unaligned ones are left
// to ps.Plain, which computes the same bits.
func addFloats(dst, values []byte) bool {
	if len(dst) < 1024 || !aligned(dst) || !aligned(values) {
		return false
	}
	d, x := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(values))
	cpu.Zip{Op: cpu.Add, Threads: 1}.Run(d, d, x, len(dst)/4)
	return true
}

// sumFloats implements ring.Arithmetic.Sum for float32 values and reports whether it did: short and
// unaligned ones, and sums of many parts, are left to ring.Plain, which computes the same bits.
func sumFloats(dst, out []byte, parts [][]byte) bool {
	if len(dst) < 1024 || !aligned(dst) || !aligned(out) || len(parts) > cpu.MaxParts {
		return false
	}
	var list [cpu.MaxParts][]float32
	for i, p := range parts {
		if !aligned(p) {
			return false
		}
		list[i] = Floats(p)
	}
	cpu.SumParts(Floats(dst), Floats(out), list[:len(parts)])
	return true
}

// aligned reports whether bytes begin where a float32 may.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 == 0 }

// stream copies src to dst past the caches.
func stream(dst, src []byte) { cpu.CopyPast(dst, src) }
