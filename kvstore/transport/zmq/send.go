//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// copyBelow is the size of payloads that are cheaper to copy than to lend: a loan that comes back
// wakes the receiver.
const copyBelow = 64 << 10

// Send implements transport.Endpoint.
func (e *endpoint) Send(to wire.Node, m *wire.Message, sent func()) error {
	if err := e.cfg.CheckSend(to, m); err != nil {
		return err
	}
	copied, err := e.send(to, m, sent)
	if err != nil {
		e.count.Refused.Add(1)
		return fmt.Errorf("zmq: %s to %s: %w", m.Type, to, err)
	}
	e.count.Out(len(m.Payload))
	if copied && sent != nil {
		sent()
	}
	return nil
}

// send hands a message to ZeroMQ and reports whether the payload was copied.
func (e *endpoint) send(to wire.Node, m *wire.Message, sent func()) (copied bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false, transport.ErrClosed
	}
	out := C.gx_out{loan: -1, size: C.uint64_t(len(m.Payload))}
	if err := e.aim(&out, to, m.Type); err != nil {
		return false, err
	}
	if sent != nil && len(m.Payload) >= copyBelow {
		out.loan = e.loans.lend(m.Payload, sent)
	}
	header := m.AppendHeader(e.header[:0])
	payload := m.Payload
	if len(payload) == 0 {
		payload = header // nothing of it is read
	}
	// Only in this form does the check of pointers that go to C look at the bytes alone, not at
	// the allocation around them.
	if err := sendError(C.gx_send(e.box, &out, unsafe.Pointer(&header[0]),
		unsafe.Pointer(&payload[0]))); err != nil {
		e.loans.cancel(out.loan)
		if errors.Is(err, transport.ErrUnreachable) {
			e.forget(to, uint32(out.conn))
		}
		return false, err
	}
	return out.loan < 0, nil
}

// aim finds the socket, and at a listening socket the connection, that leads to a node.
func (e *endpoint) aim(out *C.gx_out, to wire.Node, t wire.Type) error {
	k := data
	if t.Control() {
		k = control
	}
	if p := e.peers[to]; p != nil {
		out.slot = C.int32_t(p.class[k].slot)
		return nil
	}
	r := e.routes[to]
	if r == nil {
		return transport.ErrUnreachable
	}
	if !r.known[k] {
		k = 1 - k
	}
	if !r.known[k] {
		return transport.ErrUnreachable
	}
	out.slot, out.router, out.conn = C.int32_t(e.listen[k].slot), 1, C.uint32_t(r.conn[k])
	return nil
}

// forget forgets a connection to a node that is gone, so that the next message tells which one is
// there. A peer that connects while this process is stopped can leave several connections, of which
// the one it goes on with need not have the largest number.
func (e *endpoint) forget(to wire.Node, conn uint32) {
	r := e.routes[to]
	if r == nil || e.peers[to] != nil {
		return
	}
	for k := range r.conn {
		if r.known[k] && r.conn[k] == conn {
			r.known[k] = false
		}
	}
}
