package bulk

import (
	"context"
	"io"
	"net"
	"runtime"
	"syscall"
	"time"

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

// A socket waits for bytes that are under way as follows.
const (
	// patience is the time for which it looks before its goroutine sleeps. The peer seals a record
	// in a part of it; to wake a sleeping processor takes as long.
	patience = 50 * time.Microsecond
	// mostLow is the greatest number of bytes that must come before the kernel tells the poller. It
	// is more than one system call of the peer, so that the poller hears of a payload once, not of
	// each of its parts while the goroutine is reading them.
	mostLow = roomSize / 2
)

// socket reads from a connection of the kernel.
type socket struct {
	raw   syscall.RawConn
	alone bool // there is one processor, which the sender needs
	low   int  // bytes that must come before the kernel tells the poller

	// Of the present read.
	p     []byte
	least int
	n     int
	err   error
	look  func(fd uintptr) bool // try, made once
}

// newSocket returns the source of a connection.
func newSocket(c net.Conn) source {
	s := &socket{alone: runtime.NumCPU() == 1, low: 1}
	s.look = s.try
	if sc, ok := c.(syscall.Conn); ok {
		var err error
		if s.raw, err = sc.SyscallConn(); err == nil {
			return s
		}
	}
	return sleeper{c}
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
	var began time.Time
	for {
		s.n, s.err = unix.Read(int(fd), s.p)
		switch {
		case s.err == unix.EINTR:
			continue
		case s.err != unix.EAGAIN:
			return true
		case s.least == 0 || s.alone:
			return false
		}
		if now := time.Now(); began.IsZero() {
			began = now
		} else if now.Sub(began) > patience {
			return false
		}
		// Other threads that are ready come first.
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}
