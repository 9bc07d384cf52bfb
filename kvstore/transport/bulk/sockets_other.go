//go:build !linux

package bulk

import (
	"context"
	"syscall"
)

// control sets nothing: only Linux has the option.
func (o *Options) control(context.Context, string, string, syscall.RawConn) error { return nil }
