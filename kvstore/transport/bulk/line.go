package bulk

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// line is an encrypted connection to the process at the end of a way. One goroutine writes the
// parcels of the way, another reads messages.
type line struct {
	conn  net.Conn
	in    *reader
	way   *way
	peer  wire.Node              // authenticated by the pin
	rekey uint64                 // bytes to write before the line gives way to another
	bye   *[wire.HeaderSize]byte // last message of a line that ends in order
	full  bool                   // takes no more parcels; the way's mu guards it
	busy  atomic.Bool            // a parcel has been taken and not yet passed to the kernel
	// lets the line outlive the context that would close it; may be nil
	unhook func() bool

	// Of the writing goroutine.
	out    *writer
	failed error // end of the goroutine, nil after a goodbye
}

// newLine makes the line of a connection whose handshake is over. An accepted line gets its way
// later; a dialed line has one.
func (e *endpoint) newLine(raw net.Conn, s tls.ConnectionState, w *way, peer wire.Node) (*line,
	error) {
	k, err := keysOf(&s)
	if err != nil {
		return nil, err
	}
	defer k.wipe()
	read, write := k.dialer, k.acceptor
	if w != nil {
		read, write = write, read
	}
	l := &line{conn: raw, way: w, peer: peer, rekey: e.opt.Rekey, bye: &e.bye}
	if l.in, err = newReader(newSocket(raw), read); err == nil {
		l.out, err = newWriter(raw, write)
	}
	return l, err
}

// write writes parcels until the line must end, and then says goodbye.
func (l *line) write() {
	var p parcel
	for {
		more, ok := l.way.take(l, &p)
		if !ok {
			break
		}
		err := l.put(&p)
		if err == nil && !more {
			err = l.send()
			l.busy.Store(false)
		}
		p.end()
		if err != nil {
			l.failed = err
			l.conn.Close() // ends the reading goroutine
			return
		}
		if l.out.sealed > l.rekey {
			l.way.stop(l)
		}
	}
	err := l.out.add(l.bye[:])
	if err == nil {
		err = l.send()
	}
	if err != nil {
		l.failed = err
		l.conn.Close()
		return
	}
	// The peer ends its direction in turn, after the message that it is writing.
	_ = l.conn.SetReadDeadline(time.Now().Add(goodbye))
}

// goodbye is the time that a peer has to end its direction of a line.
const goodbye = 10 * time.Second

// put encrypts a parcel. Small parcels share a record; long payloads are not copied.
func (l *line) put(p *parcel) error {
	err := l.out.add(p.header[:])
	switch {
	case err != nil:
		return err
	case len(p.payload) < long:
		return l.out.add(p.payload)
	}
	return l.out.addLong(p.payload)
}

// send writes everything that has been put.
func (l *line) send() error {
	if err := l.out.end(); err != nil {
		return err
	}
	return l.out.flush()
}

// run uses a line until it ends. It returns nil after goodbyes in both directions.
func (e *endpoint) run(l *line) error {
	if !l.way.set(l) {
		l.conn.Close()
		return transport.ErrClosed
	}
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		l.write()
	}()
	err := e.read(l)
	l.way.stop(l)
	if err != nil {
		l.conn.Close()
	}
	<-wrote
	l.conn.Close()
	if l.unhook != nil {
		l.unhook()
	}
	l.wipe()
	if errors.Is(err, net.ErrClosed) && l.failed != nil {
		err = l.failed
	}
	return e.judge(l, err)
}

// wipe overwrites the plain text that the line has held. The keys are inside crypto/aes, which
// leaves them to the collector.
func (l *line) wipe() {
	l.in.wipe()
	l.out.wipe()
}

// read passes the messages of a line to the handler until the line ends.
func (e *endpoint) read(l *line) error {
	in := frames{from: l.in, most: e.cfg.MaxPayload, pool: &e.pool}
	var m wire.Message
	for {
		b, err := in.next(&m)
		switch {
		case err == io.EOF:
			return io.ErrUnexpectedEOF // without a goodbye
		case err != nil:
			return err
		case m.Type == wire.TypePin:
			b.Release()
			return nil
		}
		e.deliver(l, &m, b)
	}
}

// judge counts the end of a line by its reason, and returns nil for an end in order.
func (e *endpoint) judge(l *line, err error) error {
	if err == nil || e.closed.Load() || errors.Is(err, net.ErrClosed) {
		return err // in order, or closed at this end
	}
	switch {
	case errors.Is(err, wire.ErrHeader), errors.Is(err, wire.ErrMessage),
		errors.Is(err, wire.ErrPayload):
		e.count.Undecoded(&e.cfg, err)
	case errors.Is(err, errForged):
		e.count.Forged.Add(1)
	default:
		e.count.Truncated.Add(1)
	}
	e.cfg.Log.Warn().Err(err).Stringer("peer", l.peer).Msg("encrypted connection ended")
	return err
}
