package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBody is wrapped by the errors of all decoders of bodies.
var ErrBody = errors.New("wire: malformed body")

// reader takes fixed-size fields off a slice. After the first field that is not there it returns
// zeros, and bad says so.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// bytes reads a 32-bit length and that many bytes, without copying them.
func (r *reader) bytes() []byte { return r.take(int(r.u32())) }

// count reads a 32-bit number of items that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.u32()
	if uint64(n)*uint64(size) > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

// end returns an error naming the body when something was missing or is left over.
func (r *reader) end(body string) error {
	switch {
	case r.bad:
		return fmt.Errorf("%w: %s ends early", ErrBody, body)
	case len(r.b) != 0:
		return fmt.Errorf("%w: %s has %d bytes too many", ErrBody, body, len(r.b))
	}
	return nil
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

func appendString(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
	return append(dst, s...)
}

func bit(b bool, n uint8) uint8 {
	if b {
		return 1 << n
	}
	return 0
}
