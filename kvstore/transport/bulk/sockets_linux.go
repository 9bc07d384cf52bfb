package bulk

import (
	"context"
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
