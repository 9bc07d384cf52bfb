//go:build cgo

package kvstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gomx/kvstore"
	"gomx/kvstore/transport"
	"gomx/kvstore/transport/zmq"
	"gomx/kvstore/wire"
	nd "gomx/ndarray"
)

// member is a worker of a job that keeps to no rules but those of the transport.
type member struct {
	transport.Endpoint
	me    wire.Node
	inc   uint32
	place wire.Replica
	views chan *wire.View
}

// joinByHand lets a member say hello until the job has a place for it and servers that it can
// reach.
func joinByHand(t *testing.T, x *tapJob, rank uint16) *member {
	t.Helper()
	m := &member{me: wire.Node{Role: wire.Worker, Rank: rank}, views: make(chan *wire.View, 100)}
	var err error
	m.Endpoint, err = zmq.Open(transport.Config{Self: m.me, Job: tapID, Listen: zmq.NoListen,
		Handler: func(_ wire.Node, msg *wire.Message) {
			if msg.Type != wire.TypeView {
				return
			}
			if v, err := wire.DecodeView(msg.Payload); err == nil {
				select {
				case m.views <- v:
				default:
				}
			}
		}}, zmq.Options{})
	must(t, err)
	t.Cleanup(func() { m.Close() })
	must(t, m.Connect(wire.Node{Role: wire.Scheduler}, x.scheduler))
	deadline := time.After(30 * time.Second)
	for m.inc == 0 {
		hello := wire.Message{Type: wire.TypeHello,
			Payload: (&wire.Hello{Nonce: 4711, Rank: int32(rank)}).Append(nil)}
		must(t, m.say(wire.Node{Role: wire.Scheduler}, hello))
		select {
		case v := <-m.views:
			if me := v.Member(m.me); me.Nonce == 4711 && len(v.Shards) > 0 {
				m.inc, m.place = me.Incarnation, v.Shards[0].Primary
				must(t, m.Connect(v.Servers[0].Node, v.Servers[0].Addr))
			}
		case <-time.After(50 * time.Millisecond): // once more
		case <-deadline:
			t.Fatal("the job has no place for a second worker")
		}
	}
	return m
}

// say sends a message to a node.
func (m *member) say(to wire.Node, msg wire.Message) error {
	msg.Job, msg.From, msg.Incarnation = tapID, m.me, m.inc
	return m.Send(to, &msg, nil)
}

// TestAMemberThatKeepsNoRulesHarmsNobody lets a worker of a job flood the server, over a real
// socket, with pulls of a distant future, pushes out of their turn, of other keys and of other
// lengths, and keys that exist: the other worker goes on with the right values, and what waits on
// the server is bounded.
func TestAMemberThatKeepsNoRulesHarmsNobody(t *testing.T) {
	t.Parallel()
	x := openTapJob(t, "dist_async", 2, 1, 1)
	must(t, x.kv.Init(t.Context(), "w", nd.Zeros(nd.Shape{1000})))
	bad, server := joinByHand(t, x, 1), wire.Node{Role: wire.Server}
	about := wire.Message{Epoch: 1, KeySlice: wire.KeySlice{Slices: 1, Total: 4000}}
	flood := func(typ wire.Type, change func(i int, m *wire.Message)) {
		for i := range 3000 {
			m := about
			m.Type = typ
			change(i, &m)
			for tries := 0; errors.Is(bad.say(server, m), transport.ErrBusy) &&
				tries < 1000; tries++ {
				time.Sleep(time.Millisecond) // the queue is full
			}
		}
	}
	step := func(i int) {
		out := nd.Zeros(nd.Shape{1000})
		must(t, x.kv.PushPull("w", 0, []*nd.Array{nd.Ones(nd.Shape{1000})}, []*nd.Array{out}))
		if v := values(t, out); v[0] != float32(i) || v[999] != float32(i) {
			t.Errorf("step %d: %v and %v, want %d", i, v[0], v[999], i)
		}
	}
	step(1)
	flood(wire.TypePull, func(i int, m *wire.Message) { m.Seq, m.Need = uint64(i+1), 1<<40 })
	step(2)
	flood(wire.TypePush, func(i int, m *wire.Message) {
		m.Seq, m.Clock, m.Payload = uint64(i+2), 1, make([]byte, 4000)
	})
	flood(wire.TypePush, func(i int, m *wire.Message) {
		m.Seq, m.Clock, m.Payload = 1, 1, make([]byte, i%4000)
	})
	flood(wire.TypePush, func(i int, m *wire.Message) {
		m.Seq, m.Clock, m.Key, m.Payload = 1, 1, 77, make([]byte, 4000)
	})
	step(3)
	flood(wire.TypeInit, func(i int, m *wire.Message) {
		m.Seq, m.Flags, m.Total, m.Payload = uint64(i+1), wire.FlagCreate, 400, make([]byte, 400)
	})
	step(4)
	if err := bad.say(server, wire.Message{Type: wire.TypePush,
		Payload: make([]byte, transport.DefaultMaxPayload+1)}); !errors.Is(err,
		transport.ErrTooLarge) ||
		!strings.Contains(err.Error(), "67108865 bytes, want at most 67108864") {
		t.Errorf("a push that no message holds: got %v, want %v with both lengths", err,
			transport.ErrTooLarge)
	}
	// The pulls that wait are what the window allows, or have been forgotten.
	st, err := kvstore.ReadStatus(t.Context(), <-x.page)
	must(t, err)
	for _, m := range st.Members {
		if m.Parked > 2*1024 {
			t.Errorf("%d pulls wait on %s, want at most %d", m.Parked, m.Node, 2*1024)
		}
	}
}
