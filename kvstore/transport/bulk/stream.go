package bulk

import (
	"encoding/binary"
	"net"
)

// stream is the TCP connection under a handshake. It reads nothing behind the record of TLS that is
// wanted: after the last one come records of our own.
type stream struct {
	net.Conn
	head [recordHead]byte // of the present record
	have int              // bytes of head that have been read
	left int              // bytes of the record behind its head that have not been read
}

// Read implements net.Conn. One goroutine calls it at a time.
func (s *stream) Read(p []byte) (int, error) {
	if s.left > 0 {
		n, err := s.Conn.Read(p[:min(len(p), s.left)])
		s.left -= n
		return n, err
	}
	n, err := s.Conn.Read(p[:min(len(p), recordHead-s.have)])
	copy(s.head[s.have:], p[:n])
	if s.have += n; s.have == recordHead {
		s.have, s.left = 0, int(binary.BigEndian.Uint16(s.head[3:]))
	}
	return n, err
}

// sleeper is a source without a least number of bytes.
type sleeper struct{ net.Conn }

func (s sleeper) read(p []byte, _ int) (int, error) { return s.Conn.Read(p) }
