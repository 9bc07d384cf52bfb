package ps

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"gomx/dtype"
)

// Arithmetic adds up gradients. Plain is the definition; stores inject faster ones, and codes.
type Arithmetic interface {
	// Check reports whether payload, in an encoding, holds exactly n bytes of plain values of type
	// t. It is called before Store and Add, which rely on it.
	Check(payload []byte, n int, t dtype.Type, codec uint8) error
	// Store writes the plain values of payload to dst; Add adds them to dst, elementwise, rounding
	// once per element.
	Store(dst, payload []byte, t dtype.Type, codec uint8)
	Add(dst, payload []byte, t dtype.Type, codec uint8)
}

// Plain is the arithmetic in plain Go, for values that are not encoded.
type Plain struct{}

// Check wants codec 0, n bytes, and whole elements of a known type.
func (Plain) Check(payload []byte, n int, t dtype.Type, codec uint8) error {
	switch {
	case codec != 0:
		return fmt.Errorf("encoding %d is not known", codec)
	case !t.Valid():
		return fmt.Errorf("element type %d is not known", int8(t))
	case len(payload) != n || n%t.Size() != 0:
		return fmt.Errorf("%d bytes of %s, want %d", len(payload), t, n)
	}
	return nil
}

// Store copies.
func (Plain) Store(dst, payload []byte, _ dtype.Type, _ uint8) { copy(dst, payload) }

// Add adds elementwise.
func (Plain) Add(dst, payload []byte, t dtype.Type, _ uint8) {
	switch t {
	case dtype.Float32:
		addFloat32(dst, payload)
	case dtype.Float64:
		for i := 0; i+8 <= len(dst); i += 8 {
			a, b := binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(payload[i:])
			binary.LittleEndian.PutUint64(dst[i:],
				math.Float64bits(math.Float64frombits(a)+math.Float64frombits(b)))
		}
	case dtype.Float16:
		addHalf(dst, payload, func(a, b uint16) uint16 {
			return uint16(dtype.HalfOf(dtype.Half(a).Float32() + dtype.Half(b).Float32()))
		})
	case dtype.BFloat16:
		addHalf(dst, payload, func(a, b uint16) uint16 {
			return uint16(dtype.BF16Of(dtype.BF16(a).Float32() + dtype.BF16(b).Float32()))
		})
	default:
		addInts(dst, payload, t)
	}
}

func addHalf(dst, src []byte, add func(a, b uint16) uint16) {
	for i := 0; i+2 <= len(dst); i += 2 {
		a, b := binary.LittleEndian.Uint16(dst[i:]), binary.LittleEndian.Uint16(src[i:])
		binary.LittleEndian.PutUint16(dst[i:], add(a, b))
	}
}

// addInts adds integers, which wrap around. Bool is a byte that becomes true.
func addInts(dst, src []byte, t dtype.Type) {
	le := binary.LittleEndian
	switch {
	case t == dtype.Bool:
		for i := range dst {
			dst[i] |= src[i]
		}
	case t.Size() == 1:
		for i := range dst {
			dst[i] += src[i]
		}
	case t.Size() == 2:
		addHalf(dst, src, func(a, b uint16) uint16 { return a + b })
	case t.Size() == 4:
		for i := 0; i+4 <= len(dst); i += 4 {
			le.PutUint32(dst[i:], le.Uint32(dst[i:])+le.Uint32(src[i:]))
		}
	case t.Size() == 8:
		for i := 0; i+8 <= len(dst); i += 8 {
			le.PutUint64(dst[i:], le.Uint64(dst[i:])+le.Uint64(src[i:]))
		}
	}
}

// addFloat32 adds over typed views when both sides are aligned, which transports see to.
func addFloat32(dst, src []byte) {
	n := len(dst) / 4
	if n == 0 {
		return
	}
	if !aligned(dst) || !aligned(src) {
		for i := 0; i+4 <= len(dst); i += 4 {
			a, b := binary.LittleEndian.Uint32(dst[i:]), binary.LittleEndian.Uint32(src[i:])
			binary.LittleEndian.PutUint32(dst[i:],
				math.Float32bits(math.Float32frombits(a)+math.Float32frombits(b)))
		}
		return
	}
	d := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(dst))), n)
	s := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(src))), n)
	for len(d) >= 4 && len(s) >= 4 {
		d[0] += s[0]
		d[1] += s[1]
		d[2] += s[2]
		d[3] += s[3]
		d, s = d[4:], s[4:]
	}
	for i := range d {
		d[i] += s[i]
	}
}

func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%4 == 0
}
