package wire

import (
	"fmt"
	"io"
	"slices"
)

// Source is bytes that are taken one after the other, out of memory or out of a stream whose length
// is known. It allocates no more than the bytes that are there.
type Source struct {
	mem  []byte    // the rest, where from is nil
	from io.Reader // a stream of left bytes
	left uint64
	sum  uint32 // of the bytes that have been taken
}

// SourceOf returns the bytes of a slice.
func SourceOf(b []byte) *Source { return &Source{mem: b, left: uint64(len(b))} }

// SourceFrom returns n bytes of a stream.
func SourceFrom(r io.Reader, n uint64) *Source { return &Source{from: r, left: n} }

// Left returns how many bytes are left.
func (s *Source) Left() uint64 { return s.left }

// Sum returns the CRC-32C of the bytes that have been taken.
func (s *Source) Sum() uint32 { return s.sum }

// Take takes n bytes, which stay as they are.
func (s *Source) Take(n uint64) ([]byte, error) { return s.TakeTo(nil, n) }

// TakeTo is Take that may use the memory of buf.
func (s *Source) TakeTo(buf []byte, n uint64) ([]byte, error) {
	if n > s.left {
		return nil, fmt.Errorf("%w: %d bytes left, want %d", ErrBody, s.left, n)
	}
	s.left -= n
	if s.from == nil {
		out := s.mem[:n:n]
		s.mem, s.sum = s.mem[n:], ChecksumMore(s.sum, out)
		return out, nil
	}
	buf = slices.Grow(buf[:0], int(n))[:n]
	if _, err := io.ReadFull(s.from, buf); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBody, err)
	}
	s.sum = ChecksumMore(s.sum, buf)
	return buf, nil
}

// Close closes a stream that can be closed.
func (s *Source) Close() error {
	if c, ok := s.from.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
