package bulk

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"time"

	"gomx/kvstore/wire"
)

// dial is the request to keep a line to a peer; one goroutine serves it.
type dial struct {
	addr string
	way  *way
	told chan pin // holds the pin that the peer has announced last
	ctx  context.Context
	stop context.CancelFunc
}

func newDial(addr string, w *way) *dial {
	d := &dial{addr: addr, way: w, told: make(chan pin, 1)}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// tell passes a pin to the goroutine of the dial, in place of an older one.
func (d *dial) tell(p pin) {
	select {
	case <-d.told:
	default:
	}
	select {
	case d.told <- p:
	default:
	}
}

// The first and the longest pause between attempts to reach a peer.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// pause waits, and reports false when the dial has been stopped.
func (d *dial) pause(t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-d.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// keep makes a line to the peer, and a new one when it ends, until the dial is stopped.
func (e *endpoint) keep(d *dial) {
	defer e.tasks.Done()
	defer d.way.close()
	pause := firstPause
	for d.ctx.Err() == nil {
		p, ok := e.ask(d)
		if !ok {
			return
		}
		for ok {
			l, err := e.dial(d, p)
			if err == nil {
				pause = firstPause
				err = e.run(l)
				d.way.unset(l)
			} else if d.ctx.Err() == nil {
				e.cfg.Log.Debug().Err(err).Stringer("peer", d.way.peer).Msg("no line yet")
			}
			ok = err == nil && d.ctx.Err() == nil // the line has ended in order: the same process
		}
		if !d.pause(pause) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// ask asks the peer for its pin over the base transport until it answers.
func (e *endpoint) ask(d *dial) (p pin, ok bool) {
	select { // an answer to an earlier question may be about an earlier process
	case <-d.told:
	default:
	}
	pause := firstPause
	for {
		e.announce(d.way.peer, true)
		timer := time.NewTimer(pause)
		select {
		case <-d.ctx.Done():
			timer.Stop()
			return p, false
		case p = <-d.told:
			timer.Stop()
			return p, true
		case <-timer.C:
		}
		pause = min(2*pause, lastPause)
	}
}

// announce sends our pin to a peer. A lost note is sent again.
func (e *endpoint) announce(to wire.Node, ask bool) {
	m := wire.Message{Type: wire.TypePin, Job: e.cfg.Job, From: e.cfg.Self,
		Incarnation: e.spoke.Load(), Payload: noteOf(e.id.pin, ask)}
	if err := e.base.Send(to, &m, nil); err != nil {
		e.cfg.Log.Debug().Err(err).Stringer("peer", to).Msg("pin is not announced yet")
	}
}

// greeting are the first bytes of the accepting side: it has verified the certificate of the
// dialing side, which TLS does not tell.
const greeting = "gomxbulk"

// dial makes a line to a process with a pin.
func (e *endpoint) dial(d *dial, p pin) (*line, error) {
	ctx, cancel := context.WithTimeout(d.ctx, e.opt.Handshake)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: e.opt.probes(), ControlContext: e.opt.control}
	raw, err := dialer.DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(&stream{Conn: raw}, e.id.config(func(x pin) bool { return x == p }))
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		e.count.Unknown.Add(1)
		return nil, err
	}
	var b [len(greeting)]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		raw.Close()
		return nil, err
	}
	if string(b[:]) != greeting || !stop() {
		raw.Close()
		return nil, fmt.Errorf("bulk: %s greets with %q, want %q", d.way.peer, b, greeting)
	}
	l, err := e.newLine(raw, conn.ConnectionState(), d.way, d.way.peer)
	if err != nil {
		raw.Close()
		return nil, err
	}
	l.unhook = context.AfterFunc(d.ctx, func() { raw.Close() })
	return l, nil
}
