package transporttest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// Attacker sits on the network between two endpoints: it passes on the records of TLS that they
// exchange and may do with them as it likes. It has no keys.
type Attacker struct {
	t        testing.TB
	listener net.Listener
	target   string // address of the endpoint that accepts

	mu    sync.Mutex
	conns [][2]net.Conn
	bytes [][]byte // all bytes on their way to the accepting side, by connection
	// change is called with every application record on its way to the accepting side (up) or back.
	// It returns the records to pass on instead.
	change func(up bool, record []byte) [][]byte
	seen   map[bool][][]byte // application records passed on, by direction
}

// ApplicationData is the type of records that carry encrypted bytes, after the handshake and in its
// later parts.
const ApplicationData = 23

// NewAttacker listens in front of an address, until the end of the test.
func NewAttacker(t testing.TB, target string) *Attacker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Attacker{t: t, listener: l, target: target, seen: map[bool][][]byte{}}
	go a.accept()
	t.Cleanup(func() { l.Close(); a.Cut() })
	return a
}

// Addr is the address to dial instead of the target.
func (a *Attacker) Addr() string { return a.listener.Addr().String() }

func (a *Attacker) accept() {
	for {
		near, err := a.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", a.target)
		if err != nil {
			near.Close()
			continue
		}
		a.mu.Lock()
		i := len(a.conns)
		a.conns = append(a.conns, [2]net.Conn{near, far})
		a.bytes = append(a.bytes, nil)
		a.mu.Unlock()
		go a.pass(i, true, near, far)
		go a.pass(i, false, far, near)
	}
}

// pass copies one direction of a connection, record by record.
func (a *Attacker) pass(i int, up bool, from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		record := append(head, make([]byte, binary.BigEndian.Uint16(head[3:]))...)
		if _, err := io.ReadFull(from, record[5:]); err != nil {
			return
		}
		if up {
			a.mu.Lock()
			a.bytes[i] = append(a.bytes[i], record...)
			a.mu.Unlock()
		}
		out := [][]byte{record}
		if record[0] == ApplicationData {
			a.mu.Lock()
			a.seen[up] = append(a.seen[up], bytes.Clone(record))
			change := a.change
			a.mu.Unlock()
			if change != nil {
				out = change(up, record)
			}
		}
		for _, r := range out {
			if _, err := to.Write(r); err != nil {
				return
			}
		}
	}
}

// Tamper sets the change to records that are not yet on their way.
func (a *Attacker) Tamper(f func(up bool, record []byte) [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change = f
}

// Last returns the last application record of a direction.
func (a *Attacker) Last(up bool) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.seen[up]
	if len(list) == 0 {
		a.t.Fatal("no record has passed")
	}
	return bytes.Clone(list[len(list)-1])
}

// Inject writes bytes to the accepting side of the last connection, or cuts it off with nil.
func (a *Attacker) Inject(b []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.conns[len(a.conns)-1][1]
	if b == nil {
		c.Close()
	} else if _, err := c.Write(b); err != nil {
		a.t.Error(err)
	}
}

// Cut ends all connections.
func (a *Attacker) Cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		c[0].Close()
		c[1].Close()
	}
}

// Lines is the number of connections so far.
func (a *Attacker) Lines() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.conns)
}

// Recorded returns all bytes of the first connection on their way to the accepting side.
func (a *Attacker) Recorded() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.bytes[0])
}

// Through makes an endpoint dial an attacker instead of the target behind it.
type Through struct {
	transport.Endpoint
	Attacker *Attacker
}

// Connect implements transport.Endpoint.
func (e Through) Connect(peer wire.Node, addr string) error {
	return e.Endpoint.Connect(peer, strings.Replace(addr, e.Attacker.target, e.Attacker.Addr(), 1))
}

// Stats implements transport.Metered.
func (e Through) Stats() transport.Stats { return e.Endpoint.(transport.Metered).Stats() }
