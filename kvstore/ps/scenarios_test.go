package ps_test

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// Scenarios are moments that random schedules seldom meet.

// replaceServer replaces server 1 of a net of two by a new process, whose copies are made anew.
func (n *net) replaceServer(t *testing.T) {
	t.Helper()
	node := wire.Node{Role: wire.Server, Rank: 1}
	s, err := server.New(server.Config{Job: job, Rank: 1, Nonce: 77, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	n.machines[node] = s
}

// leader is the server that keeps its copies in scenarios, follower the one that is replaced.
var (
	leader   = wire.Node{Role: wire.Server}
	follower = wire.Node{Role: wire.Server, Rank: 1}
)

// push starts a push of key 1 and fails the test when that is impossible.
func push(t *testing.T, n *net, w *worker.Worker, deadline ps.Time) uint64 {
	t.Helper()
	id, err := w.Push(n.now, worker.PushOp{Key: 1, Value: make([]byte, 64), Deadline: deadline})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestNothingIsCommittedAloneOnceABackupMayBePromoted loses the scheduler's word that the backup is
// in sync: from the request on, the primary must not commit what that backup lacks.
func TestNothingIsCommittedAloneOnceABackupMayBePromoted(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	asked := false
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypeInSync {
			asked = true
			return true // the request is under way for ever, as far as the primary knows
		}
		return asked && m.Type == wire.TypeReplicate && to == follower
	}
	n.replaceServer(t)
	n.pass(2 * ps.Second)
	if !asked {
		t.Fatal("the primary does not ask for a promotable backup")
	}
	push(t, n, list[0], n.now+20*ps.Second)
	n.pass(2 * ps.Second)
	if len(n.done) > 0 {
		t.Fatalf("a push that only the primary has was acknowledged: %+v", n.done)
	}
	n.lose = nil
	n.until(t, 1)
}

// TestABackupIsPromotableOnlyWithAllThatWasCommitted lets a push be committed by the primary alone
// while the end of the transfer is under way.
func TestABackupIsPromotableOnlyWithAllThatWasCommitted(t *testing.T) {
	const kindEnd = 11
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	shard := ps.ShardOf(ps.ID{Key: 1}, 2)
	end, asked, hold := uint64(0), false, true
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		switch {
		case m.Shard != shard || m.Type.Control() && m.Type != wire.TypeInSync:
			return false
		case m.Type == wire.TypeInSync:
			asked = true
		case m.Type == wire.TypeReplicate && m.LogPlace().Kind == kindEnd:
			end = m.LogPlace().Index
			return hold
		case m.Type == wire.TypeReplicate && end > 0:
			return m.LogPlace().Index > end
		}
		return false
	}
	n.replaceServer(t)
	n.pass(2 * ps.Second)
	if end == 0 {
		t.Fatal("no transfer has ended")
	}
	push(t, n, list[0], 0)
	n.until(t, 1) // the primary is still alone
	hold = false
	n.pass(2 * ps.Second)
	if asked {
		t.Error("a backup that lacks a committed push is to be promotable")
	}
	n.lose = nil
	n.pass(2 * ps.Second)
	if v := list[0].View(); !v.Shards[shard].InSync {
		t.Errorf("the backup has everything and is not in sync: %+v", v.Shards[shard])
	}
}

// TestCreditReturnsWithReceipt wants a push to leave when an earlier one has been received,
// whatever is still under way and though nothing is committed.
func TestCreditReturnsWithReceipt(t *testing.T) {
	n, list := newNet(t, 1, 2, 1, worker.KeySpec{Total: 4 << 10},
		func(c *worker.Config) { c.SliceSize, c.Credit = 1<<10, 2<<10 })
	seen := uint64(0)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypePush {
			seen = max(seen, m.Seq)
		}
		return m.Type == wire.TypePush && m.Seq > 1
	}
	if _, err := list[0].Push(n.now, worker.PushOp{Key: 1,
		Value: make([]byte, 4<<10)}); err != nil {
		t.Fatal(err)
	}
	n.settle()
	if seen != 2 {
		t.Fatalf("%d slices have left, want the 2 that the credit allows", seen)
	}
	n.pass(100 * ps.Millisecond)
	if seen != 3 {
		t.Errorf("%d slices have left after the first was received, want 3", seen)
	}
	n.lose = nil
	if _, err := list[1].Push(n.now, worker.PushOp{Key: 1,
		Value: make([]byte, 4<<10)}); err != nil {
		t.Fatal(err)
	}
	n.until(t, 2)
}

// TestPullsWaitForTheirClock wants servers not to answer, and workers not to take, what is older
// than what was asked for.
func TestPullsWaitForTheirClock(t *testing.T) {
	n, list := pair(t)
	values := 0
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypeValue {
			values++
		}
		return false
	}
	w, out := list[0], make([]byte, 64)
	push(t, n, w, 0)
	if _, err := w.Pull(n.now, 1, out, 0, 0); err != nil {
		t.Fatal(err)
	}
	n.pass(ps.Second)
	if values > 0 || len(n.done) > 0 {
		t.Fatalf("%d values and %d ends before the round was over", values, len(n.done))
	}
	var asked wire.Message
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if m.Type == wire.TypePull {
			asked = *m
		}
		return m.Type == wire.TypePull
	}
	n.pass(ps.Second)
	place := w.View().Shards[0]
	old := wire.Message{Type: wire.TypeValue, Job: job, From: leader,
		Incarnation: place.Primary.Incarnation, Epoch: place.Epoch,
		Seq: asked.Seq, KeySlice: wire.KeySlice{Key: 1, Slices: 1}, Payload: make([]byte, 64)}
	w.Handle(n.now, leader, &old)
	n.settle()
	if len(n.done) > 0 || w.Stats().Stale != 1 {
		t.Errorf("a value of clock 0 was taken for one of clock %d: %+v", asked.Need, n.done)
	}
	n.lose = nil
	push(t, n, list[1], 0)
	n.until(t, 3)
}

// TestRoundsShrinkWhenAWorkerStaysDead lets a worker die for good.
func TestRoundsShrinkWhenAWorkerStaysDead(t *testing.T) {
	n, list := netConfig{servers: 1, workers: 2, replicas: 1, policy: ps.Shrink}.open(t,
		worker.KeySpec{Total: 64})
	push(t, n, list[0], 0)
	n.pass(ps.Second)
	if len(n.done) > 0 {
		t.Fatal("a round was closed without a worker that lives")
	}
	dead := wire.Node{Role: wire.Worker, Rank: 1}
	n.lose = func(from, to wire.Node, m *wire.Message) bool { return from == dead || to == dead }
	n.until(t, 1)
	if n.now > 6*ps.Second {
		t.Errorf("the round was closed after %.1f s, want about 3", float64(n.now)/1e9)
	}
}

// TestJoiningALostJobFailsAtOnce wants a worker that arrives when a shard is lost to be told so.
func TestJoiningALostJobFailsAtOnce(t *testing.T) {
	n, list := pair(t)
	v := list[0].View().Clone()
	v.Number++
	v.Workers[1] = wire.Member{Node: v.Workers[1].Node, Incarnation: v.Next, Alive: true,
		Nonce: 555}
	v.Next++
	v.Shards[0].Lost = true
	w, err := worker.New(worker.Config{Job: job, Rank: 1, Nonce: 555, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.Join(n.now, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := viewOf(v)
	w.Handle(n.now, m.From, &m)
	wantError(t, w.Out().Done, id, ps.ErrLost)
	nextView(n, list[0], func(v *wire.View) { v.Shards[0].Lost = true })
	if _, err := list[0].Init(n.now, 2, worker.KeySpec{Total: 64}, make([]byte, 64),
		0); !errors.Is(err,
		ps.ErrLost) {
		t.Errorf("init of a key without a place: got %v, want %v", err, ps.ErrLost)
	}
}

// TestAPrimaryThatReturnsHasForgotten lets the lead of a shard go to the other server and come back
// while a worker hears of no view: what the first had received and not committed is gone, though it
// is the same process.
func TestAPrimaryThatReturnsHasForgotten(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	shard := ps.ShardOf(ps.ID{Key: 1}, 2)
	first := wire.Node{Role: wire.Server, Rank: list[0].View().Shards[shard].Primary.Server}
	second := wire.Node{Role: wire.Server, Rank: 1 - first.Rank}
	zero := wire.Node{Role: wire.Worker}
	push(t, n, list[0], 0)
	n.pass(100 * ps.Millisecond) // received, and the round waits for worker 1
	for _, away := range []wire.Node{first, second} {
		n.lose = func(from, to wire.Node, m *wire.Message) bool {
			return from == away || to == away || to == zero || from == zero &&
				to.Role == wire.Server
		}
		n.pass(5 * ps.Second)
		n.lose = func(from, to wire.Node, m *wire.Message) bool {
			return to == zero || from == zero && to.Role == wire.Server
		}
		n.pass(5 * ps.Second)
	}
	if place := list[1].View().Shards[shard]; place.Primary.Server != first.Rank ||
		place.Epoch < 3 {
		t.Fatalf("the lead has not come back to %s: %+v", first, place)
	}
	n.lose = nil
	push(t, n, list[1], 0)
	n.pass(3 * ps.Second)
	if len(n.done) != 2 {
		t.Errorf("%d of the 2 pushes of the round have ended", len(n.done))
	}
}

// TestAServerThatLeavesIsReplacedAtOnce lets a server say goodbye: its shards move without the
// silence of a death.
func TestAServerThatLeavesIsReplacedAtOnce(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	srv := n.machines[follower].(*server.Server)
	if srv.Gone() {
		t.Fatal("it is gone before it has left")
	}
	srv.Leave()
	n.pass(100 * ps.Millisecond)
	if !srv.Gone() {
		t.Error("the scheduler does not know that it has left")
	}
	for i, sh := range list[0].View().Shards {
		if sh.Primary.Server != leader.Rank || !sh.Backup.IsZero() {
			t.Errorf("shard %d: %+v", i, sh)
		}
	}
	push(t, n, list[0], 0)
	n.until(t, 1)
}
