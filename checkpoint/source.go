package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// source reads little-endian numbers and counts the bytes read. It keeps the first error.
type source struct {
	r    io.Reader
	off  int64
	size int64  // size of the whole input in bytes, -1 if unknown
	what string // part of the file that is read now, for errors
	err  error
	buf  [8]byte
}

// fail keeps the first error, with the offset.
func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d%s: %s %s", s.off, s.total(), s.what,
			fmt.Sprintf(format, args...))
	}
}

func (s *source) total() string {
	if s.size < 0 {
		return ""
	}
	return fmt.Sprintf(" of %d", s.size)
}

// truncated sets the error of an input that has left bytes where n are wanted.
func (s *source) truncated(n, left int64) {
	if s.err == nil {
		s.err = fmt.Errorf("truncated at byte %d%s: %s wants %d bytes, %d left: %w",
			s.off, s.total(), s.what, n, left, io.ErrUnexpectedEOF)
	}
}

// read fills p and reports whether the input had enough bytes.
func (s *source) read(p []byte) bool {
	if s.err != nil {
		return false
	}
	n, err := io.ReadFull(s.r, p)
	switch {
	case err == nil:
		s.off += int64(n)
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.truncated(int64(len(p)), int64(n))
	default:
		s.err = fmt.Errorf("byte %d%s: %s: %w", s.off, s.total(), s.what, err)
	}
	return false
}

func (s *source) u32() uint32 {
	if !s.read(s.buf[:4]) {
		return 0
	}
	return binary.LittleEndian.Uint32(s.buf[:4])
}

func (s *source) u64() uint64 {
	if !s.read(s.buf[:8]) {
		return 0
	}
	return binary.LittleEndian.Uint64(s.buf[:8])
}

// piece is how many bytes are allocated ahead of what has been read when the size of the input is
// not known.
const piece = 1 << 20

// bytes reads n bytes. It allocates them at once only when the input is known to have them.
func (s *source) bytes(n int64) []byte {
	switch {
	case s.err != nil:
		return nil
	case s.size >= 0 && n > s.size-s.off:
		s.truncated(n, s.size-s.off)
		return nil
	case s.size >= 0 || n <= piece:
		p := make([]byte, n)
		if !s.read(p) {
			return nil
		}
		return p
	}
	var list []byte
	for int64(len(list)) < n {
		p := make([]byte, min(n-int64(len(list)), piece))
		if !s.read(p) {
			return nil
		}
		list = append(list, p...)
	}
	return list
}

// atEnd reports whether nothing follows.
func (s *source) atEnd() bool {
	n, err := io.ReadFull(s.r, s.buf[:1])
	return n == 0 && errors.Is(err, io.EOF)
}
