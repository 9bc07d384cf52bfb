package bulk

import (
	"net"
	"sync"
)

// stream is the TCP connection under a line. crypto/tls reads and writes record by record, at most
// 16 KiB; a stream makes one system call for several records.
type stream struct {
	net.Conn
	in       []byte // bytes read from the connection and not yet passed on
	room     []byte // memory of in
	mu       sync.Mutex
	out      []byte // bytes not yet written to the connection
	buffered bool   // out collects bytes until flush; before, each write goes out at once
}

// streamSize is the number of bytes in each of the two buffers.
const streamSize = 128 << 10

func newStream(c net.Conn) *stream {
	return &stream{Conn: c, room: make([]byte, streamSize), out: make([]byte, 0, streamSize)}
}

// Read implements net.Conn. One goroutine calls it at a time.
func (s *stream) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		if len(p) >= len(s.room) {
			return s.Conn.Read(p)
		}
		n, err := s.Conn.Read(s.room)
		s.in = s.room[:n]
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, s.in)
	s.in = s.in[n:]
	return n, nil
}

// Write implements net.Conn.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out)+len(p) > cap(s.out) {
		if err := s.flushLocked(); err != nil {
			return 0, err
		}
	}
	if !s.buffered || len(p) > cap(s.out) {
		return s.Conn.Write(p)
	}
	s.out = append(s.out, p...)
	return len(p), nil
}

// buffer lets writes wait for flush, or no longer.
func (s *stream) buffer(on bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buffered = on
	return s.flushLocked()
}

// flush writes what has been collected.
func (s *stream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked()
}

func (s *stream) flushLocked() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.Conn.Write(s.out)
	s.out = s.out[:0]
	return err
}
