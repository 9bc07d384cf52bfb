package ps_test

import (
	"errors"
	"strings"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// TestErrorsSayWhoWaitsForWhom lets one party not do its part, and wants the error of the call that
// waits to name it.
func TestErrorsSayWhoWaitsForWhom(t *testing.T) {
	zero, one := wire.Node{Role: wire.Worker}, wire.Node{Role: wire.Worker, Rank: 1}
	rounds, direct := worker.KeySpec{Total: 64}, worker.KeySpec{Total: 64, Direct: true}
	type setup struct {
		n    *net
		list []*worker.Worker
		out  []byte
	}
	for name, tt := range map[string]struct {
		key   worker.KeySpec
		start func(x *setup, deadline ps.Time) (uint64, error)
		want  wire.Node
	}{
		"push": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			return x.list[0].Push(x.n.now, worker.PushOp{Key: 1, Value: x.out, Deadline: deadline})
		}, one},
		"push and pull": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			return x.list[0].Push(x.n.now, worker.PushOp{Key: 1, Value: x.out, Out: x.out,
				Deadline: deadline})
		}, one},
		"pull of a round": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			if _, err := x.list[0].Push(x.n.now, worker.PushOp{Key: 1, Value: x.out}); err != nil {
				return 0, err
			}
			return x.list[0].Pull(x.n.now, 1, x.out, 0, deadline)
		}, one},
		"pull within the staleness": {direct, func(x *setup, deadline ps.Time) (uint64, error) {
			if _, err := x.list[0].Push(x.n.now, worker.PushOp{Key: 1, Value: x.out}); err != nil {
				return 0, err
			}
			return x.list[0].Pull(x.n.now, 1, x.out, 0, deadline)
		}, one},
		"barrier": {rounds, func(x *setup, deadline ps.Time) (uint64,
			error) {
			return x.list[0].Barrier(x.n.now, deadline)
		}, one},
		"init": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			return x.list[1].Init(x.n.now, 2, rounds, nil, deadline)
		}, zero},
		"set optimizer": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			return x.list[1].SetOptimizer(x.n.now, wire.Spec{Version: 1, Name: "sgd"}, deadline)
		}, zero},
		"replication": {direct, func(x *setup, deadline ps.Time) (uint64, error) {
			x.n.lose = func(_, to wire.Node, m *wire.Message) bool {
				return m.Type == wire.TypeReplicate || m.Type == wire.TypeReplicated
			}
			return x.list[0].Push(x.n.now, worker.PushOp{Key: 3, Value: x.out, Deadline: deadline})
		}, leader}, // the backup of the key's shard, which server 1 leads
		"snapshot": {rounds, func(x *setup, deadline ps.Time) (uint64, error) {
			return x.list[0].Snapshot(x.n.now, 7, deadline)
		}, leader}, // the first of both: no key has come so far
	} {
		t.Run(name, func(t *testing.T) {
			n, list := newNet(t, 2, 2, 2, tt.key, func(c *worker.Config) { c.Staleness = 0 })
			n.initKey(t, list, 3, tt.key)
			x := &setup{n, list, make([]byte, 64)}
			id, err := tt.start(x, n.now+8*ps.Second)
			if err != nil {
				t.Fatal(err)
			}
			told := 0
			n.events = func(e ps.Event) {
				if e.Kind == ps.EventWaiting && e.Node == tt.want {
					told++
				}
			}
			n.pass(9 * ps.Second)
			for _, d := range n.done {
				var e *ps.Error
				if d.ID != id || !errors.As(d.Err, &e) {
					continue
				}
				if !errors.Is(e, ps.ErrTimeout) || e.Waits != tt.want ||
					!strings.Contains(e.Error(), "waits for "+tt.want.String()) {
					t.Errorf("got %v, want one that says that it waits for %s", e, tt.want)
				}
				if told == 0 {
					t.Error("no event says whom a slow call waits for")
				}
				return
			}
			t.Errorf("the call has not ended: %+v", n.done)
		})
	}
}

// TestJoinSaysWhichServerIsMissing joins a job that lacks a server.
func TestJoinSaysWhichServerIsMissing(t *testing.T) {
	n, list := pair(t)
	w, err := worker.New(worker.Config{Job: job, Rank: 1, Nonce: 555, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Join(n.now, n.now+ps.Second); err != nil {
		t.Fatal(err)
	}
	v := list[0].View().Clone()
	v.Number++
	v.Workers[1] = wire.Member{Node: v.Workers[1].Node, Incarnation: v.Next, Alive: true,
		Nonce: 555}
	v.Servers[0].Alive = false
	v.Shards = nil
	m := viewOf(v)
	w.Handle(n.now, m.From, &m)
	w.Tick(n.now + ps.Second)
	done := w.Out().Done
	var e *ps.Error
	if len(done) != 1 || !errors.As(done[0].Err, &e) || e.Peer != m.From || e.Waits != leader {
		t.Errorf("got %+v, want an error of the scheduler, which waits for server 0", done)
	}
}

// TestWhatIsAboutNoKeyNamesNone refuses a snapshot, which is about no key: the error must not name
// one.
func TestWhatIsAboutNoKeyNamesNone(t *testing.T) {
	for _, why := range []wire.Failure{wire.FailureLate, wire.FailureUnwritten, 3} {
		n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
		if _, err := list[0].Snapshot(n.now, 5, 0); err != nil {
			t.Fatal(err)
		}
		m := wire.Message{Type: wire.TypeSnapshotDone, Job: job,
			From: wire.Node{Role: wire.Scheduler}}
		m.SetSnapshotResult(wire.SnapshotResult{Clock: 5, Failure: why})
		list[0].Handle(n.now, m.From, &m)
		n.settle()
		if len(n.done) != 1 || n.done[0].Err == nil ||
			strings.Contains(n.done[0].Err.Error(), "of key") ||
			!strings.Contains(n.done[0].Err.Error(), "snapshot at scheduler") {
			t.Errorf("a snapshot that fails ends with %+v, want an error about a snapshot and "+
				"no key", n.done)
		}
	}
}
