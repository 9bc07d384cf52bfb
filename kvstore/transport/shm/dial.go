//go:build linux

package shm

import (
	"net"
	"sync"
	"time"

	"gomx/kvstore/wire"
)

// dial is the request to keep a line to a peer; one goroutine serves it.
type dial struct {
	peer  wire.Node
	name  string
	line  *line // current line, nil if there is none
	ended chan struct{}
	once  sync.Once
}

func newDial(peer wire.Node, name string) *dial {
	return &dial{peer: peer, name: name, ended: make(chan struct{})}
}

// stop ends the request and closes its line. The caller holds the endpoint's mu.
func (d *dial) stop() {
	d.once.Do(func() { close(d.ended) })
	if d.line != nil {
		d.line.conn.Close()
	}
}

// The first and the longest pause between attempts to reach a peer. A peer on another host is never
// reached.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 2 * time.Second
)

// keepDialing makes a line to the peer, and a new one when it ends, until stop.
func (e *endpoint) keepDialing(d *dial) {
	defer e.tasks.Done()
	pause := firstPause
	for {
		if l := e.dialOnce(d); l != nil {
			pause = firstPause
			e.read(l)
		}
		timer := time.NewTimer(pause)
		select {
		case <-d.ended:
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, lastPause)
	}
}

// dialOnce connects to the peer and offers a segment. It returns nil on failure.
func (e *endpoint) dialOnce(d *dial) *line {
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: d.name, Net: "unixpacket"})
	if err != nil {
		return nil
	}
	if sameUser(conn) != nil {
		conn.Close()
		return nil
	}
	l := &line{conn: conn, peer: d.peer}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-d.ended:
		conn.Close()
		return nil
	default:
	}
	e.lines[l] = true
	d.line = l
	if err := e.offer(l); err != nil {
		e.cfg.Log.Warn().Err(err).Stringer("peer", d.peer).Msg("no shared memory")
		conn.Close() // the reading goroutine then ends the line
	}
	return l
}
