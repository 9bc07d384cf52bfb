package bulk

import (
	"context"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// control sets the time after which the kernel gives up a connection whose bytes are not
// acknowledged. Without it a line that a partition has cut would stay silent for minutes.
func (o *Options) control(_ context.Context, _, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(3*o.Heartbeat.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}

// mostLow is the greatest number of bytes that must come before the kernel tells the poller. It is
// more than one system call of the peer, so that the poller hears of a payload once, not of each of
// its parts while the goroutine is reading them.
const mostLow = roomSize / 2

// socket reads from a connection of the kernel.
type socket struct {
	raw syscall.RawConn
	low int // bytes that must come before the kernel tells the poller

	// Of the present read.
	p     []byte
	least int
	n     int
	err   error
	look  func(fd uintptr) bool // try, made once
}

// newSocket returns the source of a connection, and sets the options of the connection.
func newSocket(c net.Conn) source {
	s := &socket{low: 1}
	s.look = s.try
	if sc, ok := c.(syscall.Conn); ok {
		var err error
		if s.raw, err = sc.SyscallConn(); err == nil {
			if local(c) {
				_ = s.raw.Control(unpaced)
			}
			return s
		}
	}
	return sleeper{c}
}

// local reports whether both ends of a connection are on this host.
func local(c net.Conn) bool {
	here, ok := c.LocalAddr().(*net.TCPAddr)
	there, found := c.RemoteAddr().(*net.TCPAddr)
	return ok && found && here.IP.Equal(there.IP)
}

// unpaced frees a connection within this host from the pace of a congestion control such as BBR,
// which takes the time between two sealed records for the limit of a link. Where Reno cannot be had
// the pace stays.
func unpaced(fd uintptr) {
	_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
}

// read implements source.
func (s *socket) read(p []byte, least int) (int, error) {
	s.p, s.least = p, least
	err := s.raw.Read(s.look)
	s.p = nil
	switch {
	case err != nil:
		return 0, err
	case s.err != nil:
		return 0, s.err
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}

// try reads the bytes that are there. It returns false if there are none, and the goroutine is to
// sleep.
func (s *socket) try(fd uintptr) bool {
	if low := min(max(1, s.least), mostLow, len(s.p)); low != s.low {
		// Without it the poller is told more often.
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, low)
		s.low = low
	}
	for {
		s.n, s.err = unix.Read(int(fd), s.p)
		if s.err != unix.EINTR {
			return s.err != unix.EAGAIN
		}
	}
}
