package bulk

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gomx/kvstore/wire"
)

// door listens for the lines of peers.
type door struct {
	listener net.Listener
	addr     string // that peers dial

	mu      sync.Mutex
	pending []net.Conn            // connections in their handshakes, the oldest first
	open    map[wire.Node][]*line // accepted lines by the node behind them, the oldest first
}

// Bounds of a door.
const (
	mostPending  = 64 // handshakes at a time
	linesPerNode = 8
)

// listen opens a door at an address, whose port may be a range, "first-last", of which it takes a
// free one. The address of a predecessor may be in use for a moment.
func (o *Options) listen(addr string) (*door, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("bulk: address %q: %w", addr, err)
	}
	first, last, ranged := strings.Cut(port, "-")
	from, err := strconv.Atoi(first)
	to := from
	if err == nil && ranged {
		to, err = strconv.Atoi(last)
	}
	if err != nil || from < 0 || to > 65535 || to < from {
		return nil, fmt.Errorf("bulk: port %q of address %q, want 0 to 65535 or a range of them",
			port, addr)
	}
	c := net.ListenConfig{KeepAliveConfig: o.probes(), Control: func(network, address string,
		raw syscall.RawConn) error {
		return o.control(context.Background(), network, address, raw)
	}}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		for n := from; n <= to; n++ {
			var l net.Listener
			l, err = c.Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(n)))
			if err == nil {
				return &door{listener: l, addr: advertised(l.Addr(), o.Advertise),
					open: map[wire.Node][]*line{}}, nil
			}
			if !errors.Is(err, syscall.EADDRINUSE) {
				return nil, fmt.Errorf("bulk: %w", err)
			}
		}
		if time.Since(start) > time.Second {
			return nil, fmt.Errorf("bulk: %w", err)
		}
	}
}

// probes lets the kernel find out that a peer's host is gone.
func (o *Options) probes() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: o.Heartbeat, Interval: o.Heartbeat, Count: 3}
}

// begin notes a handshake. If there are too many, the oldest ends: an honest peer needs
// milliseconds.
func (d *door) begin(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == mostPending {
		d.pending[0].Close()
		d.pending = slices.Delete(d.pending, 0, 1)
	}
	d.pending = append(d.pending, c)
}

// end notes the end of a handshake, and reports whether it has not been closed.
func (d *door) end(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.pending, c)
	if i >= 0 {
		d.pending = slices.Delete(d.pending, i, i+1)
	}
	return i >= 0
}

// enter notes a line. The oldest of too many lines of one node is closed.
func (d *door) enter(l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.open[l.peer]
	if len(list) >= linesPerNode {
		list[0].conn.Close() // its reading goroutine takes it out
	}
	d.open[l.peer] = append(list, l)
}

// exit takes a line out.
func (d *door) exit(l *line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.open[l.peer]
	if i := slices.Index(list, l); i >= 0 {
		d.open[l.peer] = slices.Delete(list, i, i+1)
	}
}

// close ends the listener, all handshakes and all lines.
func (d *door) close() {
	d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.pending {
		c.Close()
	}
	for _, list := range d.open {
		for _, l := range list {
			l.conn.Close()
		}
	}
}

// accept serves the peers that dial, until the listener is closed.
func (e *endpoint) accept() {
	defer e.tasks.Done()
	for {
		raw, err := e.door.listener.Accept()
		if err != nil {
			if e.closed.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(firstPause) // out of descriptors, most likely
			continue
		}
		e.door.begin(raw)
		e.tasks.Add(1)
		go func() {
			defer e.tasks.Done()
			e.serve(raw)
		}()
	}
}

// serve makes a line of a connection and uses it until its end.
func (e *endpoint) serve(raw net.Conn) {
	l, x := e.welcome(raw)
	if !e.door.end(raw) || l == nil {
		raw.Close()
		if !e.closed.Load() {
			e.count.Unknown.Add(1)
		}
		return
	}
	e.door.enter(l)
	defer e.door.exit(l)
	if e.closed.Load() {
		raw.Close() // door.close may have missed it
	}
	l.way = e.wayOf(l.peer, x)
	err := e.run(l)
	e.depart(l, x, err == nil)
}

// welcome carries out a handshake. It returns nil for a peer whose certificate is not pinned.
func (e *endpoint) welcome(raw net.Conn) (*line, pin) {
	var peer wire.Node
	conn := tls.Server(&stream{Conn: raw}, e.id.config(func(x pin) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		peer = e.pins.owner[x]
		return !peer.IsZero()
	}))
	deadline := time.Now().Add(e.opt.Handshake)
	if raw.SetDeadline(deadline) != nil || conn.Handshake() != nil {
		return nil, pin{}
	}
	if _, err := conn.Write([]byte(greeting)); err != nil || raw.SetDeadline(time.Time{}) != nil {
		return nil, pin{}
	}
	state := conn.ConnectionState()
	l, err := e.newLine(raw, state, nil, peer)
	if err != nil {
		return nil, pin{}
	}
	return l, pinOf(state)
}

// wayOf is the way to a process that has dialed. If the process's last line has ended in order, the
// messages that wait since then are on it. A line that is about to end is waited for: its messages
// come first.
func (e *endpoint) wayOf(peer wire.Node, x pin) *way {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.callers[x]; w != nil {
		e.mu.Unlock()
		w.await()
		e.mu.Lock()
	}
	w := e.callers[x]
	if w == nil || !w.idle() {
		w = newWay(peer, &e.pool, e.opt.Queue)
		e.calls++
		w.number = e.calls
		e.callers[x] = w
	}
	return w
}

// depart follows the end of an accepted line. After an end in order the messages to the peer wait
// for its next line, for as long as a handshake may take.
func (e *endpoint) depart(l *line, x pin, inOrder bool) {
	w := l.way
	ends := w.unset(l)
	if inOrder && !e.closed.Load() {
		time.AfterFunc(e.opt.Handshake, func() { e.forget(w, x, ends) })
		return
	}
	e.forget(w, x, ends)
}

// forget closes a way that has had no line since the given number of lines had ended, and removes
// its route.
func (e *endpoint) forget(w *way, x pin, ends uint64) {
	e.mu.Lock()
	if !w.idle() || w.ended() != ends {
		e.mu.Unlock()
		return
	}
	if e.callers[x] == w {
		delete(e.callers, x)
	}
	if r := e.routes[w.peer]; r != nil && r.way == w {
		delete(e.routes, w.peer)
	}
	e.mu.Unlock()
	w.close()
}
