package update

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
	"gomx/kvstore/compress"
	"gomx/kvstore/ps"
	"gomx/kvstore/ring"
)

// Arithmetic adds payloads: contributions of workers, on servers or on workers. It adds plain
// values as they are, and decodes the codes of package compress while it adds them.
type Arithmetic struct{ ps.Plain }

// Check implements ps.Arithmetic.
func (a Arithmetic) Check(payload []byte, n int, t dtype.Type, codec uint8) error {
	if codec == uint8(compress.None) {
		return a.Plain.Check(payload, n, t, 0)
	}
	if t != dtype.Float32 {
		return fmt.Errorf("%v payload of %v, want float32", compress.Kind(codec), t)
	}
	if n%4 != 0 {
		return fmt.Errorf("%d bytes of float32", n)
	}
	return compress.Check(n/4, compress.Kind(codec), payload)
}

// Store implements ps.Arithmetic.
func (a Arithmetic) Store(dst, payload []byte, t dtype.Type, codec uint8) {
	if codec == uint8(compress.None) {
		a.Plain.Store(dst, payload, t, 0)
		return
	}
	clear(dst)
	a.Add(dst, payload, t, codec)
}

// Add implements ps.Arithmetic.
func (a Arithmetic) Add(dst, payload []byte, t dtype.Type, codec uint8) {
	if codec == uint8(compress.None) {
		if t != dtype.Float32 || !addFloats(dst, payload) {
			a.Plain.Add(dst, payload, t, 0)
		}
		return
	}
	if err := compress.Add(Floats(dst), compress.Kind(codec), payload); err != nil {
		panic("kvstore: payload not checked: " + err.Error())
	}
}

// Sums adds the contributions of workers, with the bits of Arithmetic.
type Sums struct{}

// Sum implements ring.Arithmetic.
func (Sums) Sum(dst, out []byte, parts [][]byte, t dtype.Type) {
	if t != dtype.Float32 || !sumFloats(dst, out, parts) {
		ring.Plain{}.Sum(dst, out, parts, t)
	}
}

// Stream implements ring.Arithmetic.
func (Sums) Stream(dst, src []byte) { stream(dst, src) }

// Floats views aligned bytes as float32.
func Floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
