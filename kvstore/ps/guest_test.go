package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/wire"
)

// askRank sends a guest's hello and returns the rank that it is promised.
func askRank(t *testing.T, s *sched.Scheduler, now ps.Time, guest wire.Node, nonce uint64) int32 {
	t.Helper()
	h := wire.Hello{Nonce: nonce, Rank: -1}
	s.Out().Reset()
	s.Handle(now, guest, &wire.Message{Type: wire.TypeHello, Job: 7, From: guest,
		Payload: h.Append(nil)})
	for _, send := range s.Out().Sends {
		if send.To == guest && send.Msg.Type == wire.TypeHello {
			got, err := wire.DecodeHello(send.Msg.Payload)
			if err != nil || got.Nonce != nonce {
				t.Fatalf("the answer is %v, %v, want one for nonce %d", got, err, nonce)
			}
			return got.Rank
		}
	}
	return -2
}

// TestGuests wants every process without a rank to get one of its own, again when it repeats
// itself, and a dead worker's when no other is free.
func TestGuests(t *testing.T) {
	s, err := sched.New(sched.Config{Job: 7, Servers: 1, Workers: 2, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	guest := func(r wire.Role, i uint16) wire.Node { return wire.Node{Role: r, Rank: 40000 + i} }
	hello := func(now ps.Time, rank uint16, nonce uint64) {
		me := wire.Node{Role: wire.Worker, Rank: rank}
		h := wire.Hello{Nonce: nonce, Rank: int32(rank), Addr: "mem:x"}
		s.Handle(now, me, &wire.Message{Type: wire.TypeHello, Job: 7, From: me,
			Payload: h.Append(nil)})
		durable(s, now)
	}
	now := ps.Second
	for _, c := range []struct {
		what string
		node wire.Node
		id   uint64
		want int32
	}{
		{"the first", guest(wire.Worker, 0), 1, 0}, {"the second", guest(wire.Worker, 1), 2, 1},
		{"the first again", guest(wire.Worker, 0), 1, 0},
		{"the third of two", guest(wire.Worker, 2), 3, -1},
		{"a server", guest(wire.Server, 0), 4, 0}, {"a scheduler", guest(wire.Scheduler, 0), 5, -2},
	} {
		if got := askRank(t, s, now, c.node, c.id); got != c.want {
			t.Errorf("%s: promised rank %d, want %d", c.what, got, c.want)
		}
	}
	hello(now, 0, 11)
	hello(now, 1, 12)
	if got := askRank(t, s, now, guest(wire.Worker, 3), 6); got != -1 {
		t.Errorf("while both live: promised rank %d, want none", got)
	}
	for i := range ps.Time(40) { // worker 1 dies
		now += 100 * ps.Millisecond
		if i%5 == 0 {
			me := wire.Node{Role: wire.Worker}
			s.Handle(now, me, &wire.Message{Type: wire.TypeHeartbeat, Job: 7, From: me,
				Incarnation: s.View().Member(me).Incarnation})
		}
		s.Tick(now)
		durable(s, now)
	}
	if got := askRank(t, s, now, guest(wire.Worker, 3), 6); got != 1 {
		t.Errorf("after a death: promised rank %d, want 1", got)
	}
	if got := askRank(t, s, now, guest(wire.Worker, 4), 7); got != -1 {
		t.Errorf("a place that is promised: got rank %d, want none", got)
	}
	if got := askRank(t, s, now+31*ps.Second, guest(wire.Worker, 4), 7); got != 1 {
		t.Errorf("a promise that has ended: got rank %d, want 1", got)
	}
}
