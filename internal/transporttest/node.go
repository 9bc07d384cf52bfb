package transporttest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"gomx/kvstore/transport"
	"gomx/kvstore/wire"
)

// timeout is the longest time that a test waits for an event.
const timeout = 20 * time.Second

// job is the default job of an endpoint.
const job = 0x10b

// Node is an endpoint with a mailbox; tests can wait for its messages.
type Node struct {
	transport.Endpoint
	Self        wire.Node
	Incarnation uint32
	t           testing.TB

	mu   sync.Mutex
	box  []wire.Message // copies of received messages
	came chan struct{}
	hook transport.Handler // called first, if set
}

// Server and Worker name nodes of tests.
func Server(rank int) wire.Node { return wire.Node{Role: wire.Server, Rank: uint16(rank)} }

// Worker names a worker.
func Worker(rank int) wire.Node { return wire.Node{Role: wire.Worker, Rank: uint16(rank)} }

// Opener opens an endpoint.
type Opener func(t testing.TB, cfg transport.Config) transport.Endpoint

// Start opens an endpoint and closes it at the end of the test. It fills in default values for
// unset fields of cfg.
func Start(t testing.TB, open Opener, cfg transport.Config, hook transport.Handler) *Node {
	t.Helper()
	if cfg.Incarnation == 0 {
		cfg.Incarnation = 1
	}
	if cfg.Job == 0 {
		cfg.Job = job
	}
	n := &Node{Self: cfg.Self, Incarnation: cfg.Incarnation, t: t, came: make(chan struct{}, 1),
		hook: hook}
	cfg.Handler = n.handle
	n.mu.Lock() // the first message may arrive before the endpoint is set
	n.Endpoint = open(t, cfg)
	n.mu.Unlock()
	t.Cleanup(func() { n.Close() })
	return n
}

func (n *Node) handle(from wire.Node, m *wire.Message) {
	n.mu.Lock()
	hook := n.hook
	n.mu.Unlock()
	if from != m.From {
		n.t.Errorf("%s: handler got node %s, want %s as in the message", n.Self, from, m.From)
	}
	copied := *m
	copied.Payload, copied.Owner = bytes.Clone(m.Payload), nil
	if hook != nil {
		hook(from, m)
	}
	n.mu.Lock()
	n.box = append(n.box, copied)
	n.mu.Unlock()
	select {
	case n.came <- struct{}{}:
	default:
	}
}

// Message returns a message from this node.
func (n *Node) Message(t wire.Type, seq uint64, payload []byte) *wire.Message {
	return &wire.Message{Type: t, Job: job, From: n.Self, Incarnation: n.Incarnation, Seq: seq,
		Payload: payload}
}

// Push sends a push and fails the test on an error.
func (n *Node) Push(to wire.Node, seq uint64, payload []byte) {
	n.t.Helper()
	if err := n.Send(to, n.Message(wire.TypePush, seq, payload), nil); err != nil {
		n.t.Fatalf("send %d: %v", seq, err)
	}
}

// Received returns copies of the messages received so far.
func (n *Node) Received() []wire.Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.box
}

// Wait waits until count messages have arrived and returns them all.
func (n *Node) Wait(count int) []wire.Message {
	n.t.Helper()
	return n.WaitFor(fmt.Sprintf("%d messages", count),
		func(got []wire.Message) bool { return len(got) >= count })
}

// WaitFor waits until done returns true for the messages received so far.
func (n *Node) WaitFor(what string, done func([]wire.Message) bool) []wire.Message {
	n.t.Helper()
	deadline := time.After(timeout)
	for {
		got := n.Received()
		if done(got) {
			return got
		}
		select {
		case <-n.came:
		case <-deadline:
			n.t.Fatalf("%s: waited %s for %s, %d messages came", n.Self, timeout, what, len(got))
		}
	}
}

// Eventually repeats an attempt until it succeeds.
func Eventually(t testing.TB, what string, attempt func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(timeout)
	for !attempt() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s for %s", timeout, what)
		}
	}
}

// Pattern returns n bytes that depend on a seed.
func Pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range b {
		if i%8 == 0 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		b[i] = byte(x >> (i % 8 * 8))
	}
	return b
}
