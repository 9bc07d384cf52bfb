//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// receiver is the state of the receiving goroutine, which no other goroutine reads.
type receiver struct {
	gate    *transport.Gate
	m       wire.Message
	tell    []func()
	users   map[connection]wire.Node // whom the keys of connections belong to
	leases  sync.Pool                // of *lease
	yielded time.Time
	alone   bool // there is no other thread to be woken
	// asks for messages without waiting; made once, to allocate nothing per wait
	look func(uintptr) bool
}

// connection is a peer of one of our listening sockets.
type connection struct {
	slot C.int32_t
	conn C.uint32_t
}

// mostUsers bounds the number of remembered connections, most of which may be gone.
const mostUsers = 1 << 16

func (in *receiver) init(e *endpoint) {
	in.gate = transport.NewGate(&e.cfg, &e.count)
	in.users = map[connection]wire.Node{}
	in.alone = runtime.GOMAXPROCS(0) == 1
	in.look = func(uintptr) bool {
		if C.gx_receive(e.box, 0) != 0 {
			return true
		}
		C.gx_arm(e.box)
		return false
	}
}

// pollable makes a file of a descriptor that Go's poller watches.
func pollable(fd int) (*os.File, error) {
	dup, err := syscall.Dup(fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(dup)
	if err := syscall.SetNonblock(dup, true); err != nil {
		syscall.Close(dup)
		return nil, err
	}
	return os.NewFile(uintptr(dup), "zmq"), nil
}

// receive is the goroutine that receives.
func (e *endpoint) receive() {
	defer close(e.done)
	wait := e.waiter()
	receipt := C.gx_last(e.box)
	for wait() {
		sends := e.count.Sent.Load()
		e.in.tell = e.endLoans(receipt, e.in.tell)
		for i, sent := range e.in.tell {
			e.in.tell[i] = nil
			sent()
		}
		for i := range receipt.n {
			if e.isClosed() {
				return
			}
			e.take(&receipt.in[i])
		}
		if e.isClosed() {
			return
		}
		e.in.yield(e, sends)
	}
}

// yieldEvery is how long the receiving goroutine may stay out of the scheduler's sight. After 10 ms
// it counts as a loop: from then on its processor is taken away whenever it waits in C.
const yieldEvery = 4 * time.Millisecond

// yield lets other goroutines run on this thread if they should. Then another thread is woken for
// this goroutine, which costs as much as a message. A worker does so when messages have led to no
// others, for then a goroutine waited for them. It runs now, and not after a thread has been woken
// for it; sends is how many messages had been sent when they came.
func (in *receiver) yield(e *endpoint, sends uint64) {
	now := time.Now()
	woken := e.cfg.Self.Role == wire.Worker && e.count.Sent.Load() == sends
	if woken || in.alone || now.Sub(in.yielded) >= yieldEvery {
		in.yielded = now
		runtime.Gosched()
	}
}

// linger is for how long the goroutine waits in C, which is faster but keeps a processor from other
// goroutines, before it waits in Go's poller: an answer that is under way comes sooner. Starting
// the timer costs as much as a system call or two.
const linger = 500 * time.Microsecond

// waiter returns the way to wait for a receipt. It reports false when there can be no more.
func (e *endpoint) waiter() func() bool {
	if e.file != nil {
		if conn, err := e.file.SyscallConn(); err == nil {
			return func() bool {
				return C.gx_receive(e.box, C.int64_t(linger)) != 0 || conn.Read(e.in.look) == nil
			}
		}
	}
	return func() bool { return C.gx_receive(e.box, -1) != 0 }
}

func (e *endpoint) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// take passes one message to the handler, or drops and counts it.
func (e *endpoint) take(in *C.gx_in) {
	if in.garbage != 0 {
		e.count.Garbage.Add(1)
		return
	}
	m := &e.in.m
	header := unsafe.Slice((*byte)(unsafe.Pointer(&in.header[0])), wire.HeaderSize)
	var payload []byte
	if in.size > 0 {
		payload = unsafe.Slice((*byte)(unsafe.Pointer(in.payload)), int(in.size))
	}
	from, ours := e.sender(in)
	if err := wire.Decode(header, payload, m); err != nil {
		e.count.Undecoded(&e.cfg, err)
		if errors.Is(err, wire.ErrVersion) && !ours && from != nobody &&
			e.cfg.Self.Role == wire.Scheduler {
			// Our answer tells a process of another release why it gets no place in the job.
			e.refuse(in, &wire.Message{})
		}
		return
	}
	if !e.in.gate.Admit(from, m) {
		if !ours && m.From.Role != wire.Scheduler && e.cfg.Self.Role == wire.Scheduler &&
			(from.IsZero() || from == m.From) && e.in.gate.Replaced(m) {
			e.refuse(in, m)
		}
		return
	}
	if !ours {
		e.learn(in, m)
	}
	e.count.In(len(payload))
	l := e.in.lease(in)
	if l != nil {
		m.Owner = l
	}
	e.cfg.Handler(m.From, m)
	if l != nil {
		if m.Owner == nil {
			l.keep(in)
		} else {
			e.in.leases.Put(l)
		}
	}
	m.Payload, m.Owner = nil, nil
}

// refuse tells a process that another one has taken its place. The way back to their node leads to
// that one; this answer goes to the connection on which the message came.
func (e *endpoint) refuse(in *C.gx_in, m *wire.Message) {
	answer := wire.Message{Type: wire.TypeReject, Job: e.cfg.Job, From: e.cfg.Self,
		Target: m.Incarnation}
	answer.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation, Of: m.Type})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	header := answer.AppendHeader(e.header[:0])
	out := C.gx_out{loan: -1, slot: in.slot, router: 1, conn: C.uint32_t(in.conn)}
	// Lost if the connection is gone or busy: the process speaks again.
	C.gx_send(e.box, &out, unsafe.Pointer(&header[0]), unsafe.Pointer(&header[0]))
}

// sender returns the node that sent a message, as far as keys and connections tell, and whether it came on a
// connection of ours.
func (e *endpoint) sender(in *C.gx_in) (from wire.Node, ours bool) {
	e.mu.Lock()
	from, ours = e.owner[C.int(in.slot)]
	e.mu.Unlock()
	if ours || e.opt.Keys == nil {
		return from, ours
	}
	c := connection{in.slot, in.conn}
	from, ok := e.in.users[c]
	if !ok {
		from = nobody
		if in.user != nil {
			from = parseUser(C.GoString(in.user))
		}
		if len(e.in.users) >= mostUsers {
			clear(e.in.users)
		}
		e.in.users[c] = from
	}
	return from, false
}

// nobody is not the sender of any message, but not the zero Node that stands for an unknown sender
// either.
var nobody = wire.Node{Rank: 1}

// learn notes the way back to the sender of an admitted message. Connections are numbered in the
// order they were made: a newer one replaces an older one.
func (e *endpoint) learn(in *C.gx_in, m *wire.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	k := data
	if l := e.listen[control]; l != nil && C.int32_t(l.slot) == in.slot && l != e.listen[data] {
		k = control
	}
	r := e.routes[m.From]
	if r == nil || r.incarnation != m.Incarnation {
		r = &route{incarnation: m.Incarnation}
		e.routes[m.From] = r
	}
	conn := uint32(in.conn)
	if !r.known[k] || int32(conn-r.conn[k]) > 0 {
		r.conn[k], r.known[k] = conn, true
	}
}
