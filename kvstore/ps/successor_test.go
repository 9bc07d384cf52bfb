package ps_test

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// initKey gives a key to all workers.
func (n *net) initKey(t *testing.T, list []*worker.Worker, key uint32, spec worker.KeySpec) {
	t.Helper()
	for _, w := range list {
		if _, err := w.Init(n.now, key, spec, make([]byte, spec.Total), 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, len(list))
}

// pushKey starts a push of a key of 64 bytes.
func (n *net) pushKey(t *testing.T, w *worker.Worker, key uint32) {
	t.Helper()
	if _, err := w.Push(n.now, worker.PushOp{Key: key, Value: make([]byte, 64)}); err != nil {
		t.Fatal(err)
	}
}

// replaceWorker lets a new process take over a worker's place and initialize keys.
func (n *net) replaceWorker(t *testing.T, c worker.Config, spec worker.KeySpec,
	keys ...uint32) *worker.Worker {
	t.Helper()
	c.Job, c.Nonce, c.Workers = job, 555, 2
	w, err := worker.New(c)
	if err != nil {
		t.Fatal(err)
	}
	n.machines[wire.Node{Role: wire.Worker, Rank: c.Rank}] = w
	if _, err := w.Join(n.now, 0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	for _, key := range keys {
		if _, err := w.Init(n.now, key, spec, make([]byte, spec.Total), 0); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, len(keys))
	return w
}

// TestAWorkerPassesCommittedPushes loses the acknowledgement of a push, after a change of the
// primary, behind which another one was committed long ago: the worker has to ask what became of
// the first.
func TestAWorkerPassesCommittedPushes(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	n.initKey(t, list, 3, worker.KeySpec{Total: 64}) // on the same shard as key 1
	n.pushKey(t, list[0], 1)
	n.settle()
	n.pushKey(t, list[0], 3)
	n.pushKey(t, list[1], 3)
	n.until(t, 2)
	primary := wire.Node{Role: wire.Server, Rank: list[0].View().Shards[ps.ShardOf(ps.ID{Key: 1},
		2)].Primary.Server}
	deaf := false
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from == primary || to == primary || deaf && m.Type == wire.TypeAck &&
			to == wire.Node{Role: wire.Worker}
	}
	n.pass(5 * ps.Second)
	deaf = true
	n.pushKey(t, list[1], 1)
	n.pass(20 * ps.Millisecond)
	deaf = false
	n.pass(2 * ps.Second)
	if len(n.done) != 2 {
		t.Errorf("%d of the 2 pushes of the round have ended", len(n.done))
	}
}

// TestALostAcknowledgementIsAskedFor loses the acknowledgement of a push while others are pushed
// all the time.
func TestALostAcknowledgementIsAskedFor(t *testing.T) {
	n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64, Direct: true}, nil)
	lost := false
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		first := !lost && m.Type == wire.TypeAck && len(m.Payload) > 0
		lost = lost || first
		return first
	}
	id, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: make([]byte, 64)})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		n.pass(100 * ps.Millisecond)
		n.pushKey(t, list[0], 1)
	}
	for _, d := range n.done {
		if d.ID == id {
			return
		}
	}
	t.Errorf("the push has not ended after 2 s and %d others", len(n.done))
}

// TestRoundsAreSkippedThatNobodyMakes lets the only worker leave that is expected in a round, when
// the next one has begun.
func TestRoundsAreSkippedThatNobodyMakes(t *testing.T) {
	spec := worker.KeySpec{Total: 64}
	n, list := netConfig{servers: 2, workers: 2, replicas: 1, policy: ps.Shrink}.open(t, spec)
	n.initKey(t, list, 2, spec) // on the other shard
	n.pushKey(t, list[0], 1)
	n.pushKey(t, list[1], 1)
	n.until(t, 2)
	w := n.replaceWorker(t, worker.Config{Rank: 1, Policy: ps.Shrink}, spec, 1, 2)
	if w.Resumed() != 1 {
		t.Fatalf("the new process starts behind round %d, want 1", w.Resumed())
	}
	n.pushKey(t, w, 2) // round 2, and round 1 waits for worker 0
	n.pass(ps.Second)
	if len(n.done) > 0 {
		t.Fatal("a round was closed before the one in front of it")
	}
	list[0].Leave()
	n.pass(ps.Second)
	if len(n.done) != 1 {
		t.Error("the round waits for one that nobody makes")
	}
}

// TestASuccessorStartsWhereAllKeysAre lets a process take over from one that had pushed one key
// more often than the other: it must not wait for clocks that the others reach only when it has
// pushed.
func TestASuccessorStartsWhereAllKeysAre(t *testing.T) {
	spec := worker.KeySpec{Total: 64, Direct: true}
	n, list := newNet(t, 1, 2, 1, spec, func(c *worker.Config) { c.Staleness = 0 })
	n.initKey(t, list, 2, spec)
	for range 3 {
		n.pushKey(t, list[0], 1)
	}
	n.pushKey(t, list[1], 1)
	n.pushKey(t, list[1], 2)
	n.until(t, 5)
	w, out := n.replaceWorker(t, worker.Config{}, spec, 1, 2), make([]byte, 64)
	if w.Pushes(1) != 3 || w.Pushes(2) != 0 {
		t.Fatalf("it resumes behind %d and %d pushes, want 3 and 0", w.Pushes(1), w.Pushes(2))
	}
	if _, err := w.Pull(n.now, 1, out, 0, n.now+5*ps.Second); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	n.pushKey(t, w, 1)
	n.until(t, 1)
	if _, err := w.Pull(n.now, 1, out, 0, 0); err != nil {
		t.Fatal(err)
	}
	n.pass(ps.Second)
	if len(n.done) > 0 {
		t.Error("a pull after the fourth push does not wait for those of the others")
	}
	for range 3 {
		n.pushKey(t, list[1], 1)
	}
	n.until(t, 4)
}

// TestASuccessorHearsNothingOfItsPredecessor lets a worker's push be committed after the next
// process has joined: the sequences of both begin at 1, and an acknowledgement of the first must
// not be taken for one of the second, however late it comes.
func TestASuccessorHearsNothingOfItsPredecessor(t *testing.T) {
	spec := worker.KeySpec{Total: 64, Direct: true}
	n, list := newNet(t, 2, 2, 2, spec, nil)
	me := wire.Node{Role: wire.Worker, Rank: 1}
	old := list[1].Incarnation()
	silent, late := true, []wire.Message{}
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if to == me && m.Type == wire.TypeAck && len(m.Payload) > 0 {
			if m.Target != old {
				t.Errorf("an acknowledgement of the first process's push is for incarnation %d, "+
					"want %d", m.Target, old)
			}
			late = append(late, *m)
			late[len(late)-1].Payload = append([]byte(nil), m.Payload...)
			return true
		}
		return silent && m.Type == wire.TypeReplicate
	}
	n.pushKey(t, list[1], 1)
	n.pushKey(t, list[1], 1)
	n.pass(100 * ps.Millisecond)
	w, err := worker.New(worker.Config{Job: job, Rank: 1, Nonce: 555, Workers: 2,
		Staleness: worker.Unbounded})
	if err != nil {
		t.Fatal(err)
	}
	n.machines[me] = w
	if _, err := w.Join(n.now, 0); err != nil {
		t.Fatal(err)
	}
	for w.Incarnation() == 0 { // its predecessor's place is held for a moment
		n.pass(10 * ps.Millisecond)
	}
	n.pass(100 * ps.Millisecond)
	silent = false // the pushes and the join reach the backup, and are committed, together
	n.until(t, 1)
	if _, err := w.Init(n.now, 1, spec, make([]byte, 64), 0); err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	// What the first process would have heard.
	shard := ps.ShardOf(ps.ID{Key: 1}, 2)
	place := w.View().Shards[shard]
	ack := wire.Message{Type: wire.TypeAck, Job: job, From: wire.Node{Role: wire.Server,
		Rank: place.Primary.Server},
		Incarnation: place.Primary.Incarnation, Shard: shard, Epoch: place.Epoch, Target: old,
		Payload: wire.AppendAck(nil, 1, wire.Applied)}
	ack.SetReceipt(wire.Receipt{Received: 1})
	late = append(late, ack)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return m.Type == wire.TypePush &&
			from == me
	}
	n.pushKey(t, w, 1)
	n.settle()
	for i := range late {
		w.Handle(n.now, late[i].From, &late[i])
	}
	n.settle()
	if len(n.done) > 0 {
		t.Error("a push that no server has seen is acknowledged")
	}
	n.lose = nil
	n.until(t, 1)
}

// TestNobodyJoinsAJobThatIsOver lets a process join when all workers have left: its predecessor has
// done the work.
func TestNobodyJoinsAJobThatIsOver(t *testing.T) {
	spec := worker.KeySpec{Total: 64}
	n, list := newNet(t, 1, 2, 1, spec, nil)
	for _, w := range list {
		w.Leave()
	}
	n.pass(ps.Second)
	n.done = nil
	w, err := worker.New(worker.Config{Job: job, Rank: 1, Nonce: 555, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	n.machines[wire.Node{Role: wire.Worker, Rank: 1}] = w
	if _, err := w.Join(n.now, 0); err != nil {
		t.Fatal(err)
	}
	n.pass(2 * ps.Second)
	if len(n.done) != 1 || !errors.Is(n.done[0].Err, ps.ErrOver) {
		t.Errorf("got %+v, want %v", n.done, ps.ErrOver)
	}
}
