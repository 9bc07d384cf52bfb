//go:build !linux

package bulk

import (
	"context"
	"net"
	"syscall"
)

// control sets nothing: only Linux has the option.
func (o *Options) control(context.Context, string, string, syscall.RawConn) error { return nil }

// newSocket returns the source of a connection.
func newSocket(c net.Conn) source { return sleeper{c} }
