//go:build cgo

package zmq

/*
#include "box.h"
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// endpoint is a node's end. Sockets are used under the box's lock only, by senders and by the one
// goroutine that receives; mu is taken before it.
type endpoint struct {
	cfg transport.Config
	opt Options
	location
	count transport.Counters
	box   *C.gx_box
	file  *os.File      // the receiver waits on it; nil if the receiver has a thread of its own
	done  chan struct{} // closed when the receiving goroutine has ended

	in receiver // of the receiving goroutine

	mu     sync.Mutex
	closed bool
	listen [classes]*sock // by class; the same socket twice where there is one address
	links
	loans  loans
	header [wire.HeaderSize]byte // encoding of the message that is being sent
}

// location is the place where others reach an endpoint. It is fixed before the endpoint receives.
type location struct {
	addr   string          // addresses that others connect to, with a comma between
	bound  [classes]string // addresses that the listening sockets are bound to
	domain string          // name of our keys at the gatekeeper, "" without keys
	dir    string          // folder of local sockets, removed in the end; "" if there is none
}

// links are the connections to other nodes.
type links struct {
	peers  map[wire.Node]*peer  // connections that we have made
	routes map[wire.Node]*route // connections that others have made
	owner  map[C.int]wire.Node  // node at the other end of a connection of ours, by its slot
}

// peer is a connection of ours.
type peer struct {
	addr  string
	class [classes]*sock // the same one twice where the peer has one address
}

// route is the way back to a node through our listening sockets.
type route struct {
	incarnation uint32
	conn        [classes]uint32
	known       [classes]bool
}

// Open makes an endpoint. Listen may be tcp://host:port, ipc:///path or a pair of them with a comma
// between, the second for control messages; "" is a pair of free ports on the loopback, "ipc" a
// pair of local sockets in a new private folder, and NoListen none.
func Open(cfg transport.Config, opt Options) (transport.Endpoint, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	if err := checkLibrary(opt.Keys != nil); err != nil {
		return nil, err
	}
	ready()
	box, err := C.gx_box_new()
	if box == nil {
		return nil, fmt.Errorf("zmq: endpoint of %s: %w", cfg.Self, err)
	}
	e := &endpoint{cfg: cfg, opt: opt, box: box, done: make(chan struct{}),
		links: links{peers: map[wire.Node]*peer{}, routes: map[wire.Node]*route{},
			owner: map[C.int]wire.Node{}}}
	e.in.init(e)
	if err := e.open(); err != nil {
		e.release()
		return nil, err
	}
	go e.receive()
	return e, nil
}

func (e *endpoint) open() error {
	if e.opt.Keys != nil {
		domain, err := zap.admit(e.opt.Keys.owners())
		if err != nil {
			return err
		}
		e.domain = domain
	}
	if err := e.bind(); err != nil {
		return err
	}
	if e.opt.Dedicated {
		return nil
	}
	var err error
	e.file, err = pollable(int(C.gx_box_fd(e.box)))
	return err
}

// Addr implements transport.Endpoint.
func (e *endpoint) Addr() string { return e.addr }

// Stats implements transport.Metered.
func (e *endpoint) Stats() transport.Stats { return e.count.Stats() }

// Connect implements transport.Endpoint.
func (e *endpoint) Connect(to wire.Node, addr string) error {
	list, err := parseAddresses(addr)
	if err != nil {
		return err
	}
	if err := needKeys(list, e.opt.Keys); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("zmq: %s connects to %s: %w", e.cfg.Self, to, transport.ErrClosed)
	}
	if p := e.peers[to]; p != nil && p.addr == addr {
		return nil
	}
	e.hangUp(to)
	p := &peer{addr: addr}
	for i, one := range list {
		if p.class[i], err = e.dial(to, one, class(i)); err != nil {
			e.peers[to] = p
			e.hangUp(to)
			return err
		}
	}
	if len(list) == 1 {
		p.class[control] = p.class[data]
	}
	e.peers[to] = p
	return nil
}

// Disconnect implements transport.Endpoint.
func (e *endpoint) Disconnect(to wire.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hangUp(to)
	delete(e.routes, to)
}

// hangUp closes our connection to a node.
func (e *endpoint) hangUp(to wire.Node) {
	p := e.peers[to]
	if p == nil {
		return
	}
	delete(e.peers, to)
	for i, s := range p.class {
		if s == nil || i > 0 && s == p.class[0] {
			continue
		}
		delete(e.owner, s.slot)
		e.drop(s)
	}
}

// Close implements transport.Endpoint.
func (e *endpoint) Close() error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if !first {
		<-e.done
		return nil
	}
	C.gx_stop(e.box)
	<-e.done
	return e.release()
}

// release gives up sockets, loans and everything else, in this order.
func (e *endpoint) release() error {
	sent := e.flush()
	e.mu.Lock()
	if !sent { // whoever has not taken it by now
		e.opt.Linger = 0
	}
	for node := range e.peers {
		e.hangUp(node)
	}
	for i, s := range e.listen {
		if s != nil && (i == 0 || s != e.listen[0]) {
			s.z.Unbind(e.bound[i]) // at once, where closing takes its time
			e.drop(s)
		}
	}
	e.listen = [classes]*sock{}
	e.mu.Unlock()
	if e.file != nil {
		e.file.Close()
	}
	if e.domain != "" {
		zap.forget(e.domain)
	}
	if e.dir != "" {
		os.RemoveAll(e.dir)
	}
	if left := e.recall(time.Now().Add(recallPatience)); left > 0 {
		go func() { // they must stay where they are until ZeroMQ lets go
			e.recall(time.Now().Add(time.Hour))
			C.gx_box_free(e.box)
		}()
		return fmt.Errorf("zmq: endpoint of %s: %d payloads are still being sent after close",
			e.cfg.Self, left)
	}
	C.gx_box_free(e.box)
	return nil
}

// recallPatience is how long ZeroMQ may take to close sockets, which is the work of its threads:
// milliseconds, unless a machine that has much else to do lets them wait.
const recallPatience = 20 * time.Second

// flush waits for unsent messages to leave, and reports whether all have.
func (e *endpoint) flush() bool {
	pause, deadline := 50*time.Microsecond, time.Now().Add(e.opt.Linger)
	for C.gx_unsent(e.box) > 0 {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
	return true
}

// recall waits until ZeroMQ has let go of every lent payload, which it does soon after the sockets
// were closed, and returns how many are left at the deadline.
func (e *endpoint) recall(deadline time.Time) (left int) {
	receipt := C.gx_last(e.box)
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		C.gx_collect(e.box)
		for _, sent := range e.endLoans(receipt, nil) {
			sent()
		}
		if left = e.loans.out(); left == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(pause)
	}
}
