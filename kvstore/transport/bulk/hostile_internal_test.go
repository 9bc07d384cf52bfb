package bulk

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/transport/mem"
	"gomx/kvstore/wire"
)

// target is an endpoint that counts the messages of its handler.
func target(t testing.TB, n *mem.Network, self wire.Node, got chan wire.Message,
	o Options) *endpoint {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	o.Base = func(cfg transport.Config) (transport.Endpoint, error) { return mem.Open(n, cfg) }
	ep, err := Open(transport.Config{Self: self, Incarnation: 1, Job: 1,
		Handler: func(_ wire.Node, m *wire.Message) { got <- *m }}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ep.Close() })
	return ep.(*endpoint)
}

var (
	someServer = wire.Node{Role: wire.Server}
	someWorker = wire.Node{Role: wire.Worker}
)

// eventually waits until done reports true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// TestWrongKeyAtTheDoor dials with certificates that nobody has announced, with none, and with the
// announced certificate without its key.
func TestWrongKeyAtTheDoor(t *testing.T) {
	got := make(chan wire.Message, 10)
	e := target(t, mem.NewNetwork(1), someServer, got, Options{})
	worker, err := newIdentity(someWorker)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.pins.add(someWorker, worker.pin)
	e.mu.Unlock()
	other, err := newIdentity(someWorker)
	if err != nil {
		t.Fatal(err)
	}
	stolen := other.cert
	stolen.Certificate = worker.cert.Certificate
	for _, c := range []struct {
		name  string
		certs []tls.Certificate
	}{{"unknown certificate", []tls.Certificate{other.cert}}, {"no certificate", nil},
		{"certificate without its key", []tls.Certificate{stolen}}} {
		t.Run(c.name, func(t *testing.T) {
			before := e.Stats().Unknown
			config := other.config(func(pin) bool { return true })
			config.Certificates = c.certs
			raw, err := net.Dial("tcp", e.door.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			conn := tls.Client(raw, config)
			m := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1}
			if conn.Handshake() == nil {
				_, _ = conn.Write(m.AppendHeader(nil))
				if b, err := io.ReadAll(conn); err == nil || len(b) > 0 {
					t.Errorf("the endpoint answers %q, %v; want an error", b, err)
				}
			}
			eventually(t, "the count", func() bool { return e.Stats().Unknown > before })
		})
	}
	if len(got) > 0 {
		t.Errorf("%d messages came", len(got))
	}
}

// TestWrongKeyBehindTheAddress puts a server with another certificate where a worker dials: it gets
// no message, and no certificate that others accept from it.
func TestWrongKeyBehindTheAddress(t *testing.T) {
	n := mem.NewNetwork(1)
	server := target(t, n, someServer, make(chan wire.Message, 10), Options{})
	false_, err := newIdentity(someServer)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan int, 100)
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			conn := tls.Server(raw, false_.config(func(pin) bool { return true }))
			if conn.Handshake() == nil {
				_, _ = conn.Write([]byte(greeting))
				b, _ := io.ReadAll(conn)
				heard <- len(b)
			}
			raw.Close()
		}
	}()
	worker := target(t, n, someWorker, make(chan wire.Message, 10), Options{})
	base, _ := splitAddress(server.Addr())
	if err := worker.Connect(someServer, base+separator+l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	m := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1,
		Payload: []byte("secret")}
	if err := worker.Send(someServer, &m, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the count", func() bool { return worker.Stats().Unknown > 2 })
	select {
	case n := <-heard:
		t.Errorf("the false server heard %d bytes behind its handshake, want none", n)
	default:
	}
}

// TestAnothersName lets a worker with its own certificate speak in the name of another worker.
func TestAnothersName(t *testing.T) {
	got := make(chan wire.Message, 10)
	e := target(t, mem.NewNetwork(1), someServer, got, Options{})
	id, err := newIdentity(someWorker)
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.pins.add(someWorker, id.pin)
	e.mu.Unlock()
	raw, err := net.Dial("tcp", e.door.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := tls.Client(&stream{Conn: raw}, id.config(func(pin) bool { return true }))
	if err := conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	state := conn.ConnectionState()
	k, err := keysOf(&state)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(raw, k.dialer)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []wire.Node{{Role: wire.Worker, Rank: 1}, {Role: wire.Scheduler},
		someWorker} {
		m := wire.Message{Type: wire.TypePush, Job: 1, From: from, Incarnation: 1}
		if err := errors.Join(w.add(m.AppendHeader(nil)), w.end(), w.flush()); err != nil {
			t.Fatal(err)
		}
	}
	if m := <-got; m.From != someWorker {
		t.Errorf("the handler got %s", &m)
	}
	if s := e.Stats(); s.Imposter != 2 {
		t.Errorf("%d impostors are counted, want 2", s.Imposter)
	}
}

// TestPinsOfOneNodeAreBounded announces many certificates, and one of another node.
func TestPinsOfOneNodeAreBounded(t *testing.T) {
	p := newPinned()
	p.add(someServer, pin{1})
	p.add(someWorker, pin{1})
	if p.owner[pin{1}] != someServer {
		t.Error("a worker has taken over the pin of a server")
	}
	for i := range 100 {
		p.add(someWorker, pin{2, byte(i)})
	}
	if len(p.owner) != 1+pinsPerNode || p.owner[pin{2, 99}] != someWorker ||
		p.owner[pin{2, 0}] == someWorker {
		t.Errorf("%d pins are kept, want the last %d of each node", len(p.owner), pinsPerNode)
	}
}

// TestSilentHandshakes opens many connections that say nothing, or half a handshake: the endpoint
// keeps few of them, and peers with keys still get through.
func TestSilentHandshakes(t *testing.T) {
	n := mem.NewNetwork(1)
	got := make(chan wire.Message, 10)
	e := target(t, n, someServer, got, Options{Handshake: 2 * time.Second})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 300 {
		c, err := net.Dial("tcp", e.door.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 1 { // a record of 16 KB that never ends
			_, _ = c.Write(append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc},
				make([]byte, 5000)...))
		}
	}
	eventually(t, "the handshakes", func() bool { return e.Stats().Unknown >= 300-mostPending })
	e.door.mu.Lock()
	pending := len(e.door.pending)
	e.door.mu.Unlock()
	if pending > mostPending {
		t.Errorf("%d handshakes are pending, want at most %d", pending, mostPending)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("memory grew by %d MB", grown>>20)
	}
	worker := target(t, n, someWorker, make(chan wire.Message, 10), Options{})
	if err := worker.Connect(someServer, e.Addr()); err != nil {
		t.Fatal(err)
	}
	m := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1}
	if err := worker.Send(someServer, &m, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(20 * time.Second):
		t.Error("a peer with keys does not get through")
	}
}

// TestSecretsAreWiped looks at the secret key and at the buffers of an endpoint after its end.
func TestSecretsAreWiped(t *testing.T) {
	n := mem.NewNetwork(1)
	got := make(chan wire.Message, 10)
	server := target(t, n, someServer, got, Options{})
	worker := target(t, n, someWorker, make(chan wire.Message, 10), Options{})
	if err := worker.Connect(someServer, server.Addr()); err != nil {
		t.Fatal(err)
	}
	m := wire.Message{Type: wire.TypePush, Job: 1, From: someWorker, Incarnation: 1,
		Payload: []byte(strings.Repeat("secret", 1000))}
	if err := worker.Send(someServer, &m, nil); err != nil {
		t.Fatal(err)
	}
	<-got
	eventually(t, "the buffer to come back", func() bool {
		server.pool.mu.Lock()
		defer server.pool.mu.Unlock()
		return len(server.pool.free[classOf(6000)]) > 0
	})
	used := server.pool.free[classOf(6000)][0]
	if !strings.Contains(string(used.b), "secret") {
		t.Fatal("the buffer does not hold the payload: this test looks at nothing")
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	key := server.id.cert.PrivateKey
	for _, b := range key.(interface{ Seed() []byte }).Seed() {
		if b != 0 {
			t.Fatal("the secret key is still there")
		}
	}
	if strings.Contains(string(used.b[:cap(used.b)]), "secret") {
		t.Error("a payload is still there")
	}
}

func TestNotes(t *testing.T) {
	p := pin{1, 2, 3}
	for _, ask := range []bool{false, true} {
		got, asks, err := readNote(noteOf(p, ask))
		if got != p || asks != ask || err != nil {
			t.Errorf("note of %v, %t is read as %v, %t, %v", p, ask, got, asks, err)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, noteSize-1), make([]byte, noteSize+1),
		append(make([]byte, noteSize-1), 2)} {
		if _, _, err := readNote(b); err == nil {
			t.Errorf("note %v is read without an error", b)
		}
	}
}
