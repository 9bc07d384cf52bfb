//go:build linux

package shm

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// endpoint is a base endpoint with segments for large payloads.
type endpoint struct {
	cfg      transport.Config
	opt      Options
	base     transport.Endpoint
	count    transport.Counters // garbage and shared payloads, which the base does not count
	listener *net.UnixListener
	name     string
	tasks    sync.WaitGroup
	// spoke is the incarnation of the last message sent: a process learns its own while it runs.
	spoke atomic.Uint32
	sends sync.Pool // *shared

	mu     sync.Mutex
	closed bool
	lines  map[*line]bool      // open lines
	dials  map[wire.Node]*dial // by peer
	shares
}

// shares is the shared memory of an endpoint, whose mu guards it.
type shares struct {
	out     map[wire.Node]*outbound // segments to send through; their lines hold the memory
	in      map[token]*inbound      // segments and regions of peers
	regions map[*region]bool        // of this process
}

// inbound is a segment through which a peer sends, or a region.
type inbound struct {
	mem    *memory
	owner  wire.Node // sender; zero until the token arrives by the base transport
	line   *line
	kept   atomic.Int32 // places whose payloads the receiver keeps
	region bool
}

// shared is a message with a descriptor, reused by sendDescriptor.
type shared struct {
	m    wire.Message
	desc [descriptorSize]byte
}

// Open opens the base endpoint and a local socket for the exchange of segments.
func Open(cfg transport.Config, opt Options) (transport.Endpoint, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	e := &endpoint{cfg: cfg, opt: opt, lines: map[*line]bool{}, dials: map[wire.Node]*dial{},
		shares: shares{out: map[wire.Node]*outbound{}, in: map[token]*inbound{},
			regions: map[*region]bool{}}}
	e.spoke.Store(cfg.Incarnation)
	e.sends.New = func() any { return new(shared) }
	var err error
	inner := cfg
	inner.Listen, e.name = splitAddress(cfg.Listen)
	inner.Handler = e.handle
	if e.listener, e.name, err = listen(e.name); err != nil {
		return nil, err
	}
	e.mu.Lock() // handle, which may run before Base returns, waits for base
	e.base, err = opt.Base(inner)
	e.mu.Unlock()
	if err != nil {
		e.listener.Close()
		return nil, err
	}
	e.tasks.Add(1)
	go e.accept()
	return e, nil
}

// Addr implements transport.Endpoint.
func (e *endpoint) Addr() string { return e.base.Addr() + separator + e.name }

// separator separates the base's address from the name of the local socket in an address.
const separator = transport.SharedMark

func splitAddress(addr string) (base, name string) {
	base, name, _ = strings.Cut(addr, separator)
	return base, name
}

// Stats implements transport.Metered.
func (e *endpoint) Stats() transport.Stats {
	var s transport.Stats
	if m, ok := e.base.(transport.Metered); ok {
		s = m.Stats()
	}
	ours := e.count.Stats()
	s.Shared += ours.Shared
	s.SentBytes += ours.SentBytes
	s.ReceivedBytes += ours.ReceivedBytes
	s.Garbage += ours.Garbage
	return s
}

// Connect implements transport.Endpoint.
func (e *endpoint) Connect(peer wire.Node, addr string) error {
	base, name := splitAddress(addr)
	if err := e.base.Connect(peer, base); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.dials[peer]; d != nil {
		if d.name == name {
			return nil
		}
		d.stop()
		delete(e.dials, peer)
	}
	if name == "" || e.closed {
		return nil
	}
	d := newDial(peer, name)
	e.dials[peer] = d
	e.tasks.Add(1)
	go e.keepDialing(d)
	return nil
}

// Disconnect implements transport.Endpoint.
func (e *endpoint) Disconnect(peer wire.Node) {
	e.base.Disconnect(peer)
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.dials[peer]; d != nil {
		d.stop()
		delete(e.dials, peer)
	}
	delete(e.out, peer)
}

// Send implements transport.Endpoint.
func (e *endpoint) Send(to wire.Node, m *wire.Message, sent func()) error {
	if len(m.Payload) < e.opt.Threshold {
		e.spoke.Store(m.Incarnation)
		return e.base.Send(to, m, sent)
	}
	if err := e.cfg.CheckSend(to, m); err != nil {
		return err
	}
	if sent != nil {
		if d, ok := e.lies(to, m.Payload); ok {
			return e.sendPlace(to, m, &d, sent)
		}
	}
	o := e.outbound(to)
	if o == nil {
		return e.base.Send(to, m, sent)
	}
	defer o.mem.drop()
	first, round, full, ok := o.acquire(len(m.Payload))
	if !ok {
		if full > e.opt.Stuck {
			e.renew(to, o)
		}
		return e.base.Send(to, m, sent)
	}
	copyNear(o.mem.span(first, len(m.Payload)), m.Payload)
	d := descriptor{token: o.token, first: first, round: round, length: uint64(len(m.Payload))}
	err := e.sendPlace(to, m, &d, sent)
	if err != nil {
		o.release(first)
	}
	return err
}

// sendPlace sends a message whose payload has a place in memory that the receiver has mapped.
func (e *endpoint) sendPlace(to wire.Node, m *wire.Message, d *descriptor, sent func()) error {
	if err := e.sendDescriptor(to, m, d); err != nil {
		return err
	}
	e.count.Shared.Add(1)
	e.count.SentBytes.Add(uint64(len(m.Payload)) - descriptorSize)
	if sent != nil {
		sent()
	}
	return nil
}

// sendDescriptor sends a message with a descriptor for a payload.
func (e *endpoint) sendDescriptor(to wire.Node, m *wire.Message, d *descriptor) error {
	e.spoke.Store(m.Incarnation)
	s := e.sends.Get().(*shared)
	s.m = *m
	d.put(&s.desc)
	s.m.Payload, s.m.Owner = s.desc[:], nil
	s.m.Flags |= wire.FlagShared
	err := e.base.Send(to, &s.m, nil)
	s.m.Payload = nil
	e.sends.Put(s)
	return err
}

// outbound returns the segment to a node, or nil. The caller must drop its memory.
func (e *endpoint) outbound(to wire.Node) *outbound {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.out[to]
	if o != nil {
		o.mem.hold()
	}
	return o
}

// renew replaces a segment that has been full for longer than Options.Stuck, because messages with
// descriptors must have been lost.
func (e *endpoint) renew(to wire.Node, o *outbound) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.out[to] != o {
		return
	}
	for l := range e.lines {
		if l.out == o {
			l.conn.Close()
		}
	}
}

// handle is the handler of the base endpoint.
func (e *endpoint) handle(from wire.Node, m *wire.Message) {
	if m.Flags&wire.FlagShared == 0 {
		e.cfg.Handler(from, m)
		return
	}
	var d descriptor
	in := e.claim(from, m, &d)
	if in == nil {
		e.count.Garbage.Add(1)
		return
	}
	if in.region {
		e.inPlace(from, m, in, &d)
		return
	}
	if d.length == 0 {
		in.mem.drop()
		return
	}
	m.Payload, m.Owner = in.mem.span(d.first, int(d.length)), nil
	m.Flags &^= wire.FlagShared
	e.count.ReceivedBytes.Add(d.length - descriptorSize)
	l := loanOf(in, &d)
	lent := l.lend()
	if lent {
		m.Owner = l
	}
	e.cfg.Handler(from, m)
	taken := lent && m.Owner == nil
	m.Payload, m.Owner = nil, nil
	if !taken {
		l.Release()
	}
}

// claim returns the segment of a descriptor; the caller must drop its memory. The first message
// with a segment's token sets the segment's owner to its sender.
func (e *endpoint) claim(from wire.Node, m *wire.Message, d *descriptor) *inbound {
	if d.get(m.Payload) != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	in := e.in[d.token]
	if in == nil || !in.owner.IsZero() && in.owner != from ||
		!in.region && !d.fits(len(in.mem.bytes)) {
		return nil
	}
	if in.owner.IsZero() {
		in.owner = from
		e.offerBack(in)
	}
	in.mem.hold()
	return in
}

// Close implements transport.Endpoint.
func (e *endpoint) Close() error {
	err := e.base.Close()
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	if first {
		e.listener.Close()
		for _, d := range e.dials {
			d.stop()
		}
		for l := range e.lines {
			l.conn.Close()
		}
	}
	e.mu.Unlock()
	e.tasks.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	for t, in := range e.in {
		delete(e.in, t)
		in.mem.drop()
	}
	return err
}

// orphan keeps a segment whose line has ended for Options.Stuck, for messages that arrive later.
func (e *endpoint) orphan(t token) {
	time.AfterFunc(e.opt.Stuck, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if in := e.in[t]; in != nil {
			delete(e.in, t)
			in.mem.drop()
		}
	})
}
