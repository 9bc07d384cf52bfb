package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// ofTerm returns a message of the scheduler of a term.
func ofTerm(term uint64, t wire.Type) wire.Message {
	return wire.Message{Type: t, Job: job, From: wire.Node{Role: wire.Scheduler}, Epoch: term}
}

// TestAReplacedSchedulerIsRefused lets a server and a worker hear the scheduler of term 5, and then
// one of term 4, which orders a snapshot, ends a call and refuses the processes: nothing happens.
// The scheduler of term 6 is heard.
func TestAReplacedSchedulerIsRefused(t *testing.T) {
	n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
	w, srv := list[0], n.machines[wire.Node{Role: wire.Server}].(*server.Server)
	tell := func(m wire.Message) {
		w.Handle(n.now, m.From, &m)
		srv.Handle(n.now, m.From, &m)
	}
	n.lose = func(from, _ wire.Node, _ *wire.Message) bool { return from.Role == wire.Scheduler }
	if _, err := w.Snapshot(n.now, 1, 0); err != nil {
		t.Fatal(err)
	}
	tell(ofTerm(5, wire.TypeHeartbeat))
	order := func(term uint64) {
		m := ofTerm(term, wire.TypeSnapshot)
		m.SetSnapshotOrder(wire.SnapshotOrder{Clock: 0, Try: 1, All: true})
		srv.Handle(n.now, m.From, &m)
	}
	failure := func(term uint64) {
		m := ofTerm(term, wire.TypeSnapshotDone)
		m.SetSnapshotResult(wire.SnapshotResult{Clock: 1, Failure: wire.FailureUnwritten})
		w.Handle(n.now, m.From, &m)
	}
	refusal := func(term uint64, target uint32) wire.Message {
		m := ofTerm(term, wire.TypeReject)
		m.Target = target
		m.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation})
		return m
	}
	order(4)
	failure(4)
	for _, target := range []uint32{w.Incarnation(), srv.Incarnation()} {
		tell(refusal(4, target))
	}
	n.settle()
	if len(n.saves) > 0 || len(n.done) > 0 || w.Fenced() || srv.Fenced() {
		t.Errorf("a scheduler of an earlier term has its way: saves %d, calls that ended %v, "+
			"worker fenced %v, server fenced %v", len(n.saves), n.done, w.Fenced(), srv.Fenced())
	}
	order(6)
	failure(6)
	n.settle()
	if len(n.saves) != 1 || len(n.done) != 1 || n.done[0].Err == nil {
		t.Errorf("the scheduler of a later term is not heard: %d saves, calls that ended %v",
			len(n.saves), n.done)
	}
	order(5)
	n.settle()
	if len(n.saves) != 1 {
		t.Error("a scheduler whose term has passed is heard again")
	}
	// The transport of any scheduler knows that a process has been replaced.
	tell(refusal(0, w.Incarnation()))
	if !w.Fenced() {
		t.Error("a worker goes on that a transport has refused")
	}
}

// TestAReplacedSchedulerIsSilence lets a server hear nothing but a scheduler of an earlier term:
// the server gives up when its patience ends.
func TestAReplacedSchedulerIsSilence(t *testing.T) {
	n, _ := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
	srv := n.machines[wire.Node{Role: wire.Server}].(*server.Server)
	m := ofTerm(2, wire.TypeHeartbeat)
	m.SetViewNumber(srv.View().Number)
	srv.Handle(n.now, m.From, &m)
	m.Epoch = 1
	for range 220 {
		n.now += 500 * ps.Millisecond
		srv.Handle(n.now, m.From, &m)
		srv.Tick(n.now)
	}
	if srv.Out().Fatal == nil {
		t.Error("a server takes the word of a replaced scheduler for a sign of life")
	}
}

// TestEveryMessageOfASchedulerHasItsTerm lets the scheduler of a term take part in a job: all that
// it sends has the term.
func TestEveryMessageOfASchedulerHasItsTerm(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	node := wire.Node{Role: wire.Scheduler}
	v := n.machines[node].(*sched.Scheduler).View()
	s, err := sched.New(sched.Config{Job: job, Servers: 2, Workers: 2, Shards: 2, Replicas: 2,
		View: v, Term: 7})
	if err != nil {
		t.Fatal(err)
	}
	n.machines[node] = s
	seen := map[wire.Type]bool{}
	n.lose = func(from, _ wire.Node, m *wire.Message) bool {
		if from == node {
			seen[m.Type] = true
			if m.Epoch != 7 {
				t.Errorf("%s of term %d, want 7", m.Type, m.Epoch)
			}
		}
		return false
	}
	for _, w := range list {
		if _, err := w.Barrier(n.now, 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, 2)
	if _, err := list[0].Snapshot(n.now, 0, 0); err != nil {
		t.Fatal(err)
	}
	n.pass(2 * ps.Second)
	for _, want := range []wire.Type{wire.TypeView, wire.TypeHeartbeat, wire.TypeBarrierDone,
		wire.TypeSnapshot} {
		if !seen[want] {
			t.Errorf("no %s was sent", want)
		}
	}
	if s.Term() != 7 {
		t.Errorf("the term is %d, want 7", s.Term())
	}
}
