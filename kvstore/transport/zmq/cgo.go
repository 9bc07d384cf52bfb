//go:build cgo

package zmq

/*
#cgo CFLAGS: -O2
#cgo pkg-config: libczmq libzmq libsodium
#cgo noescape gx_send
#cgo nocallback gx_send
#cgo nocallback gx_receive
#include <czmq.h>
#include "box.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"

	"github.com/zeromq/goczmq/v4"
)

// The header of a message has the same size on both sides.
var _ = [1]struct{}{}[C.GX_HEADER-wire.HeaderSize]

// maxLoans is how many payloads can be lent at once.
const maxLoans = C.GX_LOANS

// sock is a socket and its place in the box.
type sock struct {
	z    *goczmq.Sock
	slot C.int
}

// handle returns the socket that ZeroMQ's functions take. The first field of a Sock is its zsock_t.
func handle(z *goczmq.Sock) unsafe.Pointer {
	return C.zsock_resolve(*(*unsafe.Pointer)(unsafe.Pointer(z)))
}

// add puts a socket into the box.
func (e *endpoint) add(z *goczmq.Sock, router, authenticated bool) (*sock, error) {
	slot, err := C.gx_add(e.box, handle(z), cbool(router), cbool(authenticated))
	if slot < 0 {
		z.Destroy()
		return nil, fmt.Errorf("zmq: no room for another socket: %w", err)
	}
	return &sock{z, slot}, nil
}

// drop takes a socket out of the box and closes it; unsent messages have the linger time to
// leave.
func (e *endpoint) drop(s *sock) {
	C.gx_remove(e.box, s.slot)
	s.z.SetOption(goczmq.SockSetLinger(int(e.opt.Linger.Milliseconds())))
	s.z.Destroy()
}

func cbool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// sendError translates an error number of ZeroMQ.
func sendError(errno C.int) error {
	switch err := syscall.Errno(errno); err {
	case 0:
		return nil
	case syscall.EAGAIN:
		return transport.ErrBusy
	case syscall.EHOSTUNREACH, syscall.ENOTSOCK:
		return transport.ErrUnreachable
	default:
		return err
	}
}

// NewKey makes a key pair.
func NewKey() (Key, error) {
	var public, secret [z85Size + 1]C.char
	if rc, err := C.zmq_curve_keypair(&public[0], &secret[0]); rc != 0 {
		return Key{}, fmt.Errorf("zmq: making a key: %w", err)
	}
	return Key{C.GoString(&public[0]), C.GoString(&secret[0])}, nil
}

// checkLibrary refuses libraries that cannot keep the promises of this package.
func checkLibrary(keys bool) error {
	var major, minor, patch C.int
	C.zmq_version(&major, &minor, &patch)
	if err := checkVersion(int(major), int(minor), int(patch)); err != nil {
		return err
	}
	curve := C.CString("curve")
	defer C.free(unsafe.Pointer(curve))
	if keys && C.zmq_has(curve) == 0 {
		return errors.New("zmq: this libzmq was built without CURVE, which keys need")
	}
	return nil
}
