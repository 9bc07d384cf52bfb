package bulk

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// endpoint is a base endpoint with lines for data messages.
type endpoint struct {
	cfg   transport.Config
	opt   Options
	base  transport.Endpoint
	id    identity
	bye   [wire.HeaderSize]byte // last message of a line that ends in order
	door  *door                 // nil: this endpoint only dials
	count transport.Counters
	pool  buffers
	tasks sync.WaitGroup
	// spoke is the incarnation of the last message sent: a process learns its own while it runs.
	spoke  atomic.Uint32
	closed atomic.Bool

	hand sync.Mutex // held while the handler runs; guards gate
	gate *transport.Gate

	mu sync.Mutex
	links
}

// links are the ways to other nodes. The endpoint's mu guards them.
type links struct {
	pins    pinned
	dials   map[wire.Node]*dial
	callers map[pin]*way         // ways to processes that have dialed
	calls   uint64               // ways made for callers so far
	routes  map[wire.Node]*route // the same by node, known from their messages
}

// route is the way back to the newest process of a node.
type route struct {
	incarnation uint32
	way         *way
}

// Open opens the base endpoint and listens for lines. Config.Listen may be an Addr of an earlier
// endpoint.
func Open(cfg transport.Config, opt Options) (transport.Endpoint, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	e := &endpoint{cfg: cfg, opt: opt, links: links{pins: newPinned(),
		dials: map[wire.Node]*dial{}, callers: map[pin]*way{}, routes: map[wire.Node]*route{}}}
	e.gate = transport.NewGate(&e.cfg, &e.count)
	e.spoke.Store(cfg.Incarnation)
	var err error
	if e.id, err = newIdentity(cfg.Self); err != nil {
		return nil, fmt.Errorf("bulk: certificate of %s: %w", cfg.Self, err)
	}
	goodbye := wire.Message{Type: wire.TypePin, Job: cfg.Job, From: cfg.Self}
	goodbye.AppendHeader(e.bye[:0])
	inner := cfg
	lines := ""
	if inner.Listen, lines = splitAddress(cfg.Listen); lines == "" {
		lines = opt.Listen
	}
	inner.Handler = e.handle
	if lines != "" {
		if e.door, err = opt.listen(lines); err != nil {
			return nil, err
		}
	}
	e.mu.Lock() // handle, which may run before Base returns, waits for base
	e.base, err = opt.Base(inner)
	e.mu.Unlock()
	if err != nil {
		if e.door != nil {
			e.door.close()
		}
		return nil, err
	}
	if e.door != nil {
		e.tasks.Add(1)
		go e.accept()
	}
	return e, nil
}

// Addr implements transport.Endpoint.
func (e *endpoint) Addr() string {
	if e.door == nil {
		return e.base.Addr()
	}
	return e.base.Addr() + separator + e.door.addr
}

// Stats implements transport.Metered.
func (e *endpoint) Stats() transport.Stats {
	s := e.count.Stats()
	if m, ok := e.base.(transport.Metered); ok {
		s = s.Plus(m.Stats())
	}
	return s
}

// Connect implements transport.Endpoint.
func (e *endpoint) Connect(peer wire.Node, addr string) error {
	base, lines := splitAddress(addr)
	if err := e.base.Connect(peer, base); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.dials[peer]; d != nil {
		if d.addr == lines {
			return nil
		}
		d.stop()
		delete(e.dials, peer)
	}
	if lines == "" || e.closed.Load() {
		return nil
	}
	d := newDial(lines, newWay(peer, &e.pool, e.opt.Queue))
	e.dials[peer] = d
	e.tasks.Add(1)
	go e.keep(d)
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
	delete(e.routes, peer)
}

// Send implements transport.Endpoint.
func (e *endpoint) Send(to wire.Node, m *wire.Message, sent func()) error {
	if m.Type.Control() || to.Role == wire.Scheduler {
		e.spoke.Store(m.Incarnation)
		return e.base.Send(to, m, sent)
	}
	if err := e.cfg.CheckSend(to, m); err != nil {
		return err
	}
	w, err := e.wayTo(to)
	if err == nil && w == nil {
		return e.base.Send(to, m, sent)
	}
	if err == nil {
		err = w.push(m, sent)
	}
	if err != nil {
		e.count.Refused.Add(1)
		return fmt.Errorf("bulk: %s to %s: %w", m.Type, to, err)
	}
	e.count.Out(len(m.Payload))
	return nil
}

// wayTo is the way of data messages to a node, nil if the base carries them.
func (e *endpoint) wayTo(to wire.Node) (*way, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed.Load() {
		return nil, transport.ErrClosed
	}
	if d := e.dials[to]; d != nil {
		return d.way, nil
	}
	if r := e.routes[to]; r != nil {
		return r.way, nil
	}
	if e.pins.speaks(to) {
		return nil, transport.ErrUnreachable
	}
	return nil, nil
}

// handle is the handler of the base endpoint.
func (e *endpoint) handle(from wire.Node, m *wire.Message) {
	if m.Type == wire.TypePin {
		e.told(from, m)
		return
	}
	e.hand.Lock()
	defer e.hand.Unlock()
	if e.gate.Admit(from, m) {
		e.cfg.Handler(from, m)
	}
}

// told notes the pin of a peer, and answers with ours if the peer asks.
func (e *endpoint) told(from wire.Node, m *wire.Message) {
	p, ask, err := readNote(m.Payload)
	if err != nil {
		e.count.Garbage.Add(1)
		return
	}
	e.mu.Lock()
	base, d := e.base, e.dials[from]
	e.pins.add(from, p)
	e.mu.Unlock()
	if base == nil {
		return // the base did not open
	}
	if ask {
		e.announce(from, false)
	}
	if d != nil {
		d.tell(p)
	}
}

// deliver passes a message of a line to the handler.
func (e *endpoint) deliver(l *line, m *wire.Message, b *buffer) {
	e.hand.Lock()
	defer e.hand.Unlock()
	if e.closed.Load() || !e.gate.Admit(l.peer, m) {
		b.Release()
		return
	}
	e.learn(l, m)
	e.count.In(len(m.Payload))
	if len(m.Payload) < keepFrom {
		e.cfg.Handler(m.From, m)
		b.Release()
		return
	}
	m.Owner = b
	e.cfg.Handler(m.From, m)
	if m.Owner != nil {
		m.Owner = nil
		b.Release()
	}
}

// keepFrom is the size in bytes from which payloads can be kept without a copy: a buffer holds at
// least 4 KiB.
const keepFrom = 1 << 10

// learn notes the way back to the sender of an admitted message: the newest way of its newest
// process.
func (e *endpoint) learn(l *line, m *wire.Message) {
	if l.way.number == 0 {
		return // our own line
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.routes[l.peer]
	if r == nil || r.incarnation != m.Incarnation || r.way.number < l.way.number {
		e.routes[l.peer] = &route{m.Incarnation, l.way}
	}
}

// Close implements transport.Endpoint.
func (e *endpoint) Close() error {
	e.flush()
	e.mu.Lock()
	first := !e.closed.Swap(true)
	ways := make([]*way, 0, len(e.callers))
	if first {
		for _, d := range e.dials {
			d.stop()
		}
		for _, w := range e.callers {
			ways = append(ways, w)
		}
		if e.door != nil {
			e.door.close()
		}
	}
	e.mu.Unlock()
	for _, w := range ways {
		w.close()
	}
	e.tasks.Wait()
	err := e.base.Close()
	if first {
		e.id.wipe()
		e.pool.wipe()
	}
	return err
}

// flush waits for unsent messages to leave, at most for Options.Linger.
func (e *endpoint) flush() {
	pause, deadline := 50*time.Microsecond, time.Now().Add(e.opt.Linger)
	for !e.closed.Load() && e.unsent() && time.Now().Before(deadline) {
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// unsent reports whether messages wait for a line or are being written.
func (e *endpoint) unsent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range e.dials {
		if d.way.unsent() {
			return true
		}
	}
	for _, w := range e.callers {
		if w.unsent() {
			return true
		}
	}
	return false
}
