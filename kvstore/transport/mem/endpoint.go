package mem

import (
	"container/heap"
	"fmt"
	"sync"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// queueLimit is the number of queued messages at which an endpoint refuses more with ErrBusy.
const queueLimit = 10000

// endpoint is a node's end of the network. One goroutine receives.
type endpoint struct {
	net   *Network
	cfg   transport.Config
	addr  string
	count transport.Counters
	gate  *transport.Gate // used by the receiving goroutine only
	bufs  buffers
	wake  chan struct{} // holds a token if the queue has changed
	done  chan struct{} // closed when the receiving goroutine has ended

	mu     sync.Mutex
	closed bool
	peers  map[wire.Node]string // addresses given to Connect
	routes map[wire.Node]string // addresses of nodes that have sent messages
	queue  arrivals
	order  uint64 // number of messages accepted
}

// arrival is a message that has been sent and not yet received.
type arrival struct {
	due    time.Time
	order  uint64 // order of sending, for messages due at the same time
	sender string // address of the sender
	m      wire.Message
	buf    *buffer
}

// Open adds an endpoint to a network. Config.Listen may set its address, so that a later
// incarnation can have the same one.
func Open(n *Network, cfg transport.Config) (transport.Endpoint, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	e := &endpoint{net: n, cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}),
		peers: map[wire.Node]string{}, routes: map[wire.Node]string{}}
	e.gate = transport.NewGate(&e.cfg, &e.count)
	if err := n.enter(e, cfg.Listen); err != nil {
		return nil, err
	}
	go e.receive()
	return e, nil
}

// Addr implements transport.Endpoint.
func (e *endpoint) Addr() string { return e.addr }

// Stats implements transport.Metered.
func (e *endpoint) Stats() transport.Stats { return e.count.Stats() }

// Connect implements transport.Endpoint.
func (e *endpoint) Connect(peer wire.Node, addr string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("mem: %s connects to %s: %w", e.cfg.Self, peer, transport.ErrClosed)
	}
	e.peers[peer] = addr
	return nil
}

// Disconnect implements transport.Endpoint.
func (e *endpoint) Disconnect(peer wire.Node) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.peers, peer)
	delete(e.routes, peer)
}

// Send implements transport.Endpoint.
func (e *endpoint) Send(to wire.Node, m *wire.Message, sent func()) error {
	if err := e.cfg.CheckSend(to, m); err != nil {
		return err
	}
	addr, err := e.way(to)
	if err != nil {
		e.count.Refused.Add(1)
		return fmt.Errorf("mem: %s to %s: %w", m.Type, to, err)
	}
	at, due := e.net.fate(e.cfg.Self, to, addr)
	for _, t := range due {
		if !at.accept(t, e.addr, m) && len(due) == 1 {
			e.count.Refused.Add(1)
			return fmt.Errorf("mem: %s to %s: %w", m.Type, to, transport.ErrBusy)
		}
	}
	e.count.Out(len(m.Payload))
	if sent != nil {
		sent()
	}
	return nil
}

// way returns the address of a node. The address of a node that has only sent messages is valid
// while its endpoint is open.
func (e *endpoint) way(to wire.Node) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return "", transport.ErrClosed
	}
	if addr, ok := e.peers[to]; ok {
		return addr, nil
	}
	if addr, ok := e.routes[to]; ok && e.net.there(addr) {
		return addr, nil
	}
	return "", transport.ErrUnreachable
}

// accept queues a copy of a message, unless the queue is full.
func (e *endpoint) accept(due time.Time, sender string, m *wire.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return true // lost with the connection
	}
	if len(e.queue) >= queueLimit {
		return false
	}
	a := &arrival{due: due, order: e.order, sender: sender, m: *m, buf: e.bufs.copy(m.Payload)}
	e.order++
	a.m.Payload, a.m.Owner = a.buf.bytes, a.buf
	heap.Push(&e.queue, a)
	e.signal()
	return true
}

func (e *endpoint) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// receive passes messages to the handler when they are due.
func (e *endpoint) receive() {
	defer close(e.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		a, wait, closed := e.next()
		switch {
		case closed:
			return
		case a != nil:
			e.deliver(a)
			continue
		}
		timer.Reset(wait)
		select {
		case <-e.wake:
		case <-timer.C:
		}
	}
}

// next removes and returns the message that is due, or returns the time until the next one is due,
// an hour if there is none.
func (e *endpoint) next() (a *arrival, wait time.Duration, closed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.queue) == 0 {
		return nil, time.Hour, e.closed
	}
	if wait = time.Until(e.queue[0].due); wait > 0 {
		return nil, wait, false
	}
	return heap.Pop(&e.queue).(*arrival), 0, false
}

// deliver passes a message to the handler if the gate admits it.
func (e *endpoint) deliver(a *arrival) {
	from := a.m.From
	if e.gate.Admit(wire.Node{}, &a.m) {
		e.mu.Lock()
		e.routes[from] = a.sender
		e.mu.Unlock()
		e.count.In(len(a.m.Payload))
		e.cfg.Handler(from, &a.m)
	}
	if a.m.Owner != nil {
		a.buf.Release()
	}
}

// Close implements transport.Endpoint. Messages that it has sent still arrive.
func (e *endpoint) Close() error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		e.net.leave(e.addr)
		e.signal()
	}
	e.mu.Unlock()
	<-e.done
	return nil
}

// arrivals is a heap ordered by due and order.
type arrivals []*arrival

func (q arrivals) Len() int { return len(q) }
func (q arrivals) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].order < q[j].order
	}
	return q[i].due.Before(q[j].due)
}
func (q arrivals) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *arrivals) Push(x any) { *q = append(*q, x.(*arrival)) }

// Pop implements heap.Interface.
func (q *arrivals) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return a
}
