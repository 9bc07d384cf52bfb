package bulk

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// line is a TLS connection to the process at the end of a way. One goroutine writes the parcels of
// the way, another reads messages.
type line struct {
	conn   *tls.Conn
	stream *stream
	way    *way
	peer   wire.Node              // authenticated by the pin
	rekey  uint64                 // bytes to write before the line gives way to another
	bye    *[wire.HeaderSize]byte // last message of a line that ends in order
	full   bool                   // takes no more parcels; the way's mu guards it
	busy   atomic.Bool            // a parcel has been taken and not yet passed to the kernel
	// lets the line outlive the context that would close it; may be nil
	unhook func() bool

	// Of the writing goroutine.
	written uint64 // bytes encrypted so far
	plain   []byte // content of the next record
	failed  error  // end of the goroutine, nil after a goodbye
}

// recordSize is the number of bytes in the longest record of TLS.
const recordSize = 16 << 10

// newLine makes the line of a connection whose handshake is over. An accepted line gets its way
// later.
func (e *endpoint) newLine(conn *tls.Conn, s *stream, w *way, peer wire.Node) *line {
	return &line{conn: conn, stream: s, way: w, peer: peer, rekey: e.opt.Rekey, bye: &e.bye,
		plain: make([]byte, 0, recordSize)}
}

// errForged means that bytes arrived on a line that its peer did not write there.
var errForged = errors.New("bulk: a record is not the peer's next one")

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
			if err = l.send(); err == nil {
				err = l.stream.flush()
			}
			l.busy.Store(false)
		}
		p.end()
		if err != nil {
			l.failed = err
			l.stream.Conn.Close() // ends the reading goroutine
			return
		}
		if l.written > l.rekey {
			l.way.stop(l)
		}
	}
	err := l.add(l.bye[:])
	if err == nil {
		err = l.send()
	}
	if err == nil {
		err = l.stream.buffer(false)
	}
	if err == nil {
		err = l.conn.CloseWrite()
	}
	if err != nil {
		l.failed = err
		l.stream.Conn.Close()
		return
	}
	// The peer ends its direction in turn, after the message that it is writing.
	_ = l.conn.SetReadDeadline(time.Now().Add(goodbye))
}

// goodbye is the time that a peer has to end its direction of a line.
const goodbye = 10 * time.Second

// put encrypts a parcel. Small parcels share a record; of a long payload only the first and the
// last bytes are copied, so that its records are full.
func (l *line) put(p *parcel) error {
	err := l.add(p.header[:])
	for rest := p.payload; err == nil && len(rest) > 0; {
		n := len(rest) &^ (recordSize - 1)
		if len(l.plain) > 0 || n == 0 {
			n = min(len(rest), recordSize-len(l.plain))
			err = l.add(rest[:n])
		} else {
			err = l.encrypt(rest[:n])
		}
		rest = rest[n:]
	}
	return err
}

// add collects bytes for records and encrypts each record that is full.
func (l *line) add(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), recordSize-len(l.plain))
		l.plain = append(l.plain, b[:n]...)
		b = b[n:]
		if len(l.plain) == recordSize {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// send encrypts the bytes that wait for a record.
func (l *line) send() error {
	if len(l.plain) == 0 {
		return nil
	}
	err := l.encrypt(l.plain)
	l.plain = l.plain[:0]
	return err
}

func (l *line) encrypt(b []byte) error {
	n, err := l.conn.Write(b)
	l.written += uint64(n)
	return err
}

// run uses a line until it ends. It returns nil after goodbyes in both directions.
func (e *endpoint) run(l *line) error {
	if !l.way.set(l) {
		l.stream.Conn.Close()
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
		l.stream.Conn.Close()
	}
	<-wrote
	l.stream.Conn.Close()
	if l.unhook != nil {
		l.unhook()
	}
	l.wipe()
	if errors.Is(err, net.ErrClosed) && l.failed != nil {
		err = l.failed
	}
	return e.judge(l, err)
}

// wipe overwrites the plain text that the line has held. The keys are inside crypto/tls, which
// leaves them to the collector.
func (l *line) wipe() { clear(l.plain[:cap(l.plain)]) }

// read passes the messages of a line to the handler until the line ends.
func (e *endpoint) read(l *line) error {
	in := frames{from: l.conn, most: e.cfg.MaxPayload, pool: &e.pool}
	var m wire.Message
	for bye := false; ; {
		b, err := in.next(&m)
		switch {
		case err == io.EOF && bye:
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF // crypto/tls takes the end of the connection for a goodbye
		case err != nil:
			return err
		case bye:
			b.Release()
			return fmt.Errorf("%w: %s behind the goodbye", wire.ErrMessage, m.Type)
		case m.Type == wire.TypePin:
			bye = true
			b.Release()
		default:
			e.deliver(l, &m, b)
		}
	}
}

// judge counts the end of a line by its reason, and returns nil for an end in order.
func (e *endpoint) judge(l *line, err error) error {
	if err == nil || e.closed.Load() || errors.Is(err, net.ErrClosed) {
		return err // in order, or closed at this end
	}
	var alert *net.OpError
	switch {
	case errors.Is(err, wire.ErrHeader), errors.Is(err, wire.ErrMessage),
		errors.Is(err, wire.ErrPayload):
		e.count.Undecoded(&e.cfg, err)
	case errors.As(err, &alert) && alert.Op == "local error",
		errors.As(err, new(tls.RecordHeaderError)):
		e.count.Forged.Add(1)
		err = errors.Join(errForged, err)
	default:
		e.count.Truncated.Add(1)
	}
	e.cfg.Log.Warn().Err(err).Stringer("peer", l.peer).Msg("encrypted connection ended")
	return err
}
