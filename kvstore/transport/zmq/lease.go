//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
)

// lease is the Owner of a received payload. It begins in the receipt, where the frame's memory is;
// when the handler has taken the payload the frame moves out, and whichever of that and Release
// comes last frees it.
type lease struct {
	pool  *sync.Pool
	msg   *C.zmq_msg_t
	state atomic.Int32
}

// States of a lease.
const (
	leaseOpen int32 = iota
	leaseKept
	leaseReleased
)

// leaseFrom is the size from which payloads can be kept without copying: the frames of smaller ones
// may have no memory of their own.
const leaseFrom = 64

// lease returns an owner for a message's payload, nil when copying it is no worse.
func (in *receiver) lease(g *C.gx_in) *lease {
	if g.size < leaseFrom {
		return nil
	}
	l, _ := in.leases.Get().(*lease)
	if l == nil {
		l = &lease{pool: &in.leases}
	}
	l.state.Store(leaseOpen)
	return l
}

// keep moves the payload's frame out of the receipt.
func (l *lease) keep(g *C.gx_in) {
	l.msg = C.gx_keep(g)
	if !l.state.CompareAndSwap(leaseOpen, leaseKept) {
		l.end()
	}
}

// end frees the frame. The lease serves another payload.
func (l *lease) end() {
	C.gx_release(l.msg)
	l.msg = nil
	l.pool.Put(l)
}

// Release implements wire.Owner.
func (l *lease) Release() {
	switch l.state.Swap(leaseReleased) {
	case leaseKept:
		l.end()
	case leaseReleased:
		panic("zmq: a payload was released twice")
	}
}
