package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/wire"
)

// silence lets time pass in which nobody is heard of. Probes of servers that are hung up on find no
// connection.
func (l *lone) silence(d ps.Time, hungUp func(server int) bool) {
	for end := l.now + d; l.now < end; {
		l.now += 100 * ps.Millisecond
		l.s.Tick(l.now)
		for _, x := range l.s.Out().Sends {
			if x.To.Role == wire.Server && hungUp(int(x.To.Rank)) {
				l.s.Unreachable(x.To)
			}
		}
		durable(l.s, l.now)
	}
}

func (l *lone) lost() (n int) {
	for _, sh := range l.s.View().Shards {
		if sh.Lost {
			n++
		}
	}
	return n
}

// TestClosedConnectionsOfAllCopies lets both servers of a job fall silent: their shards are lost
// soon when the connections of both are closed, and waited for when one of them, or a scheduler
// that began later or stood still, may be wrong about it.
func TestClosedConnectionsOfAllCopies(t *testing.T) {
	both := func(int) bool { return true }
	one := func(server int) bool { return server == 0 }
	l := newLone(t)
	if l.silence(2*ps.Second, both); l.lost() > 0 {
		t.Error("shards are lost before their servers are given up")
	}
	if l.silence(18*ps.Second, both); l.lost() != 2 {
		t.Errorf("%d shards are lost after 20 s, want 2: the processes of both servers are dead",
			l.lost())
	}
	l = newLone(t)
	if l.silence(90*ps.Second, one); l.lost() > 0 {
		t.Error("shards are lost though one of their servers may only stand still")
	}
	l.pass(ps.Second, 1)
	for i, sh := range l.s.View().Shards {
		if sh.Primary.Server != 1 {
			t.Errorf("shard %d is not led by the server that is back: %+v", i, sh)
		}
	}
	l = newLone(t)
	l.silence(6*ps.Second, both)
	l.now += 30 * ps.Second // the scheduler stands still: what it knows of connections is old
	if l.silence(80*ps.Second, both); l.lost() > 0 {
		t.Error("shards are lost because of connections that a scheduler which stood still has " +
			"not seen")
	}
	l = newLone(t)
	for range 10 { // connections break and are made again
		if l.silence(5*ps.Second, both); l.lost() > 0 {
			t.Fatal("a connection that breaks and is made again loses shards")
		}
		l.pass(300*ps.Millisecond, 0, 1)
	}
}

// TestAPlaceThatIsTaken lets two processes ask for one place: the one that holds it and is heard of
// keeps it, and the other one is refused after a while, and not before.
func TestAPlaceThatIsTaken(t *testing.T) {
	l := newLone(t)
	node := l.s.View().Servers[0].Node
	hello := wire.Hello{Nonce: 1234, Rank: 0}
	refusedAt := ps.Time(0)
	began := l.now
	for l.now-began < 10*ps.Second {
		l.now += 100 * ps.Millisecond
		l.s.Handle(l.now, node, &wire.Message{Type: wire.TypeHello, Job: job, From: node,
			Payload: hello.Append(nil)})
		for _, x := range l.s.Out().Sends {
			if x.Msg.Type == wire.TypeReject && x.Msg.Seq == hello.Nonce && x.Msg.Target == 0 &&
				refusedAt == 0 {
				refusedAt = l.now - began
			}
		}
		l.beat(0, l.s.View().Number)
		l.beat(1, l.s.View().Number)
	}
	if refusedAt < 3*ps.Second || refusedAt > 4*ps.Second {
		t.Errorf("the second process is refused after %.1f s, want 3 to 4", float64(refusedAt)/1e9)
	}
	if m := l.s.View().Servers[0]; m.Nonce == hello.Nonce || m.Incarnation != 2 {
		t.Errorf("the place has changed hands: %+v", m)
	}
	srv, err := server.New(server.Config{Job: job, Rank: 0, Nonce: 1234, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	refusal := wire.Message{Type: wire.TypeReject, Job: job, From: wire.Node{Role: wire.Scheduler}}
	refusal.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation, Of: wire.TypeHello, Seq: 77})
	if srv.Handle(1, refusal.From, &refusal); srv.Fenced() {
		t.Error("a server takes the refusal of another process as its own")
	}
	refusal.Seq = 1234
	if srv.Handle(1, refusal.From, &refusal); !srv.Fenced() || srv.Out().Fatal == nil {
		t.Error("a server that is refused goes on")
	}
}

// TestASchedulerBringsServersBackBeforeThereAreShards restarts a scheduler that has given up a
// server before all servers were there: the server, which is alive, must come back, or the job
// never begins.
func TestASchedulerBringsServersBackBeforeThereAreShards(t *testing.T) {
	v := &wire.View{Job: job, Number: 3, Next: 3,
		Workers: []wire.Member{{Node: wire.Node{Role: wire.Worker}}}}
	for i := range 2 {
		v.Servers = append(v.Servers, wire.Member{Node: wire.Node{Role: wire.Server,
			Rank: uint16(i)}, Incarnation: uint32(i + 1), Alive: i == 0, Nonce: uint64(i + 1)})
	}
	s, err := sched.New(sched.Config{Job: job, Servers: 2, Workers: 1, Replicas: 2,
		View: v})
	if err != nil {
		t.Fatal(err)
	}
	l := &lone{s: s}
	if l.pass(2*ps.Second, 0, 1); len(s.View().Shards) == 0 {
		t.Errorf("both servers are heard of, and there are no shards: %+v", s.View())
	}
}

// TestAStallRefusesNobody lets the successor of a dead server ask for its place while the scheduler
// stands still again and again: that the scheduler gives the dead one time to be heard of does not
// mean that it is.
func TestAStallRefusesNobody(t *testing.T) {
	l := newLone(t)
	node := l.s.View().Servers[0].Node
	hello := wire.Hello{Nonce: 1234, Rank: 0}
	for i := range 60 {
		l.now += 100 * ps.Millisecond
		if i%6 == 5 {
			l.now += 3 * ps.Second
		}
		l.s.Handle(l.now, node, &wire.Message{Type: wire.TypeHello, Job: job, From: node,
			Payload: hello.Append(nil)})
		for _, x := range l.s.Out().Sends {
			if x.Msg.Type == wire.TypeReject {
				t.Fatalf("the successor is refused after %d steps", i)
			}
		}
		durable(l.s, l.now)
	}
	for range 10 {
		l.now += 100 * ps.Millisecond
		l.s.Handle(l.now, node, &wire.Message{Type: wire.TypeHello, Job: job, From: node,
			Payload: hello.Append(nil)})
		durable(l.s, l.now)
	}
	if m := l.s.View().Servers[0]; m.Nonce != hello.Nonce {
		t.Errorf("the successor has no place: %+v", m)
	}
}
