//go:build cgo

package zmq

import (
	"errors"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// TestRouteThatIsGone has an endpoint that knows a newer connection of its peer than the one that
// is there: it goes on with the connection on which the peer speaks.
func TestRouteThatIsGone(t *testing.T) {
	server, worker := wire.Node{Role: wire.Server}, wire.Node{Role: wire.Worker}
	open := func(self wire.Node, listen string, heard chan wire.Type) *endpoint {
		e, err := Open(transport.Config{Self: self, Incarnation: 1, Job: 1, Listen: listen,
			Handler: func(_ wire.Node, m *wire.Message) { heard <- m.Type }}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e.(*endpoint)
	}
	atServer, atWorker := make(chan wire.Type, 100), make(chan wire.Type, 100)
	s := open(server, "", atServer)
	w := open(worker, NoListen, atWorker)
	if err := w.Connect(server, s.Addr()); err != nil {
		t.Fatal(err)
	}
	say := func(from *endpoint, to wire.Node) error {
		return from.Send(to, &wire.Message{Type: wire.TypePush, Job: 1, From: from.cfg.Self,
			Incarnation: 1}, nil)
	}
	hear := func(from chan wire.Type) {
		t.Helper()
		select {
		case <-from:
		case <-time.After(30 * time.Second):
			t.Fatal("no message")
		}
	}
	ask := func() {
		t.Helper()
		if err := say(w, server); err != nil {
			t.Fatal(err)
		}
		hear(atServer)
	}
	ask()
	s.mu.Lock()
	for k := range s.routes[worker].conn {
		s.routes[worker].conn[k] += 1000
	}
	s.mu.Unlock()
	ask()
	if err := say(s, worker); !errors.Is(err, transport.ErrUnreachable) {
		t.Fatalf("send to a connection that is gone: %v, want %v", err, transport.ErrUnreachable)
	}
	if err := say(s, worker); !errors.Is(err, transport.ErrUnreachable) {
		t.Fatalf("send without a connection: %v, want %v", err, transport.ErrUnreachable)
	}
	ask()
	if err := say(s, worker); err != nil {
		t.Fatal(err)
	}
	hear(atWorker)
}
