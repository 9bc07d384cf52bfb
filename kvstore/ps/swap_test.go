package ps_test

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/sched"
	"gomx/kvstore/ps/server"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// swapping is a job of two servers and one worker that pushes ones to key 1, which has no rounds,
// while the copies of its shard change places: from first to second.
type swapping struct {
	n             *net
	w             *worker.Worker
	shard         uint32
	first, second wire.Node
	value         []byte
}

func newSwapping(t *testing.T) *swapping {
	t.Helper()
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64, Direct: true}, nil)
	x := &swapping{n: n, w: list[0], shard: ps.ShardOf(ps.ID{Key: 1}, 2), value: make([]byte, 64)}
	x.first = wire.Node{Role: wire.Server, Rank: x.place().Primary.Server}
	x.second = wire.Node{Role: wire.Server, Rank: 1 - x.first.Rank}
	putFloat(x.value, 0, 1)
	return x
}

func (x *swapping) scheduler() *sched.Scheduler {
	return x.n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler)
}

// place is where the shard lives.
func (x *swapping) place() wire.Shard { return x.scheduler().View().Shards[x.shard] }

// push starts pushes.
func (x *swapping) push(t *testing.T, pushes int) {
	t.Helper()
	for range pushes {
		if _, err := x.w.Push(x.n.now, worker.PushOp{Key: 1, Value: x.value}); err != nil {
			t.Fatal(err)
		}
		x.n.settle()
	}
}

// swap lets the copies change places.
func (x *swapping) swap(t *testing.T) {
	t.Helper()
	if !x.scheduler().Swap(x.n.now, int(x.shard)) {
		t.Fatalf("the copies do not change places: %+v", x.place())
	}
	x.n.settle()
}

// ended returns how many calls have ended well since it was asked last.
func (x *swapping) ended(t *testing.T) int {
	t.Helper()
	for _, d := range x.n.done {
		if d.Err != nil {
			t.Fatal(d.Err)
		}
	}
	n := len(x.n.done)
	x.n.done = x.n.done[:0]
	return n
}

// want wants the primary to be a server, with so many pushes in the value, and the backup, if there
// is to be one, to have the same.
func (x *swapping) want(t *testing.T, primary wire.Node, pushes int, copies int) {
	t.Helper()
	p := x.place()
	if p.Primary.Server != primary.Rank || p.InSync != (copies == 2) || p.Swapped {
		t.Fatalf("the shard lives at %+v, want %s as primary and %d copies", p, primary, copies)
	}
	srv := x.n.machines[primary].(*server.Server)
	value, _, _ := srv.Value(ps.ID{Key: 1})
	if got := getFloat(value, 0); got != float32(pushes) {
		t.Errorf("%v pushes count, want %d", got, pushes)
	}
	if copies < 2 {
		return
	}
	other := x.n.machines[wire.Node{Role: wire.Server, Rank: p.Backup.Server}].(*server.Server)
	i, sum, _ := srv.Checksum(x.shard)
	if j, same, ok := other.Checksum(x.shard); !ok || i != j || sum != same {
		t.Errorf("the copies are at %d with %#x and %d with %#x", i, sum, j, same)
	}
}

// apart loses what a kind of messages between the two servers says about the shard.
func (x *swapping) apart(lost func(from wire.Node, m *wire.Message) bool) {
	x.n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return m.Shard == x.shard && (m.Type == wire.TypeReplicate ||
			m.Type == wire.TypeReplicated) && lost(from, m) ||
			m.Type == wire.TypeInSync
	}
}

// underWay starts 5 pushes that the primary cannot commit, and cuts it off from the backup.
func (x *swapping) underWay(t *testing.T) {
	t.Helper()
	x.apart(func(_ wire.Node, m *wire.Message) bool { return m.Type == wire.TypeReplicated })
	x.push(t, 3) // the backup has them, and the primary does not know
	x.apart(func(wire.Node, *wire.Message) bool { return true })
	x.push(t, 2) // only the primary has them
}

// TestASwapKeepsWhatIsUnderWay lets the copies change places when the backup has a part of what is
// not committed: all is to count once, and both go on.
func TestASwapKeepsWhatIsUnderWay(t *testing.T) {
	x := newSwapping(t)
	x.push(t, 2)
	x.underWay(t)
	if n := x.ended(t); n != 2 {
		t.Fatalf("%d pushes are committed, want 2", n)
	}
	x.n.lose = nil
	x.swap(t)
	x.push(t, 1)
	x.n.pass(ps.Second)
	if n := x.ended(t); n != 6 {
		t.Errorf("%d pushes were committed after the swap, want 6", n)
	}
	if p := x.place(); p.Swapped {
		t.Errorf("nobody has confirmed the swap: %+v", p)
	}
	x.n.pass(ps.Second) // one server leads both shards now: another swap follows
	primary := wire.Node{Role: wire.Server, Rank: x.place().Primary.Server}
	x.want(t, primary, 8, 2)
}

// TestTheOldPrimaryGoesOnWhenTheNewOneDies ends the new primary when it has acknowledged what only
// the tail of the other's log has.
func TestTheOldPrimaryGoesOnWhenTheNewOneDies(t *testing.T) {
	x := newSwapping(t)
	x.underWay(t)
	x.swap(t)
	x.n.pass(ps.Second)
	if n := x.ended(t); n != 3 {
		t.Fatalf("%d pushes are committed by the new primary, want the 3 that it has", n)
	}
	x.push(t, 2)
	x.n.pass(ps.Second)
	if n := x.ended(t); n != 0 {
		t.Fatalf("%d pushes are committed that only the new primary has", n)
	}
	x.n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from == x.second ||
			to == x.second
	}
	x.n.pass(5 * ps.Second)
	if n := x.ended(t); n != 4 {
		t.Errorf("%d pushes are committed by the old primary, want 4", n)
	}
	x.want(t, x.first, 7, 1)
}

// TestTheNewPrimaryGoesOnWhenTheOldOneDies ends the old primary before it knows how much of its log
// counts.
func TestTheNewPrimaryGoesOnWhenTheOldOneDies(t *testing.T) {
	x := newSwapping(t)
	x.underWay(t)
	x.swap(t)
	x.n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return from == x.first ||
			to == x.first
	}
	x.n.pass(5 * ps.Second)
	if n := x.ended(t); n != 5 {
		t.Errorf("%d pushes are committed by the new primary, want 5", n)
	}
	x.want(t, x.second, 5, 1)
}

// TestASwapIsConfirmedBeforeTheNext wants the copies of a shard not to change places again before
// the old primary knows how much of its log counts.
func TestASwapIsConfirmedBeforeTheNext(t *testing.T) {
	x := newSwapping(t)
	x.apart(func(wire.Node, *wire.Message) bool { return true })
	x.push(t, 2)
	x.swap(t)
	confirmed := false
	lose := x.n.lose
	x.n.lose = func(from, to wire.Node, m *wire.Message) bool {
		confirmed = confirmed || m.Type == wire.TypeInSync && m.Shard == x.shard
		return lose(from, to, m)
	}
	x.n.pass(2 * ps.Second)
	if confirmed {
		t.Error("a swap is confirmed of which the old primary does not know")
	}
	if x.scheduler().Swap(x.n.now, int(x.shard)) || x.place().Epoch != 2 {
		t.Errorf("the copies change places again: %+v", x.place())
	}
	x.n.lose = nil
	x.n.pass(2 * ps.Second)
	if p := x.place(); p.Swapped {
		t.Errorf("the swap is not confirmed: %+v", p)
	}
}

// TestPrimariesComeBack replaces a server in the middle of a training: when its copies are made
// again it is to lead as many shards as before.
func TestPrimariesComeBack(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	sched := n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler)
	grads, outs := buffers(1, 64), buffers(1, 64)
	n.round(t, list, grads, outs)
	n.replaceServer(t)
	led := func() (counts [2]int) {
		for _, sh := range sched.View().Shards {
			counts[sh.Primary.Server]++
		}
		return counts
	}
	swaps, alone := 0, false
	n.events = func(e ps.Event) {
		alone = alone || led() == [2]int{2, 0}
		if e.Kind == ps.EventSwapped && e.Text == "" {
			swaps++
		}
	}
	for range 40 {
		n.round(t, list, grads, outs)
		n.pass(100 * ps.Millisecond)
	}
	if !alone || led() != [2]int{1, 1} || swaps != 1 {
		t.Errorf("the servers lead %v shards after %d swaps, want 1 each after 1; one led both: %v",
			led(), swaps, alone)
	}
	for i, sh := range sched.View().Shards {
		if !sh.InSync || sh.Swapped {
			t.Errorf("shard %d at rest: %+v", i, sh)
		}
	}
}

// TestASnapshotThatNobodyAsksForIsGivenUp lets the worker that wants a snapshot run out of time:
// from then on it keeps nobody from changing places.
func TestASnapshotThatNobodyAsksForIsGivenUp(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	if _, err := list[0].Snapshot(n.now, 5, n.now+ps.Second); err != nil {
		t.Fatal(err)
	}
	n.settle()
	n.replaceServer(t)
	n.pass(10 * ps.Second)
	sched := n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler)
	if a, b := sched.View().Shards[0], sched.View().Shards[1]; a.Primary.Server == b.Primary.Server {
		t.Errorf("one server leads both shards: %+v, %+v", a, b)
	}
}

// TestNoSwapDuringASnapshot wants primaries to stay while they make a snapshot.
func TestNoSwapDuringASnapshot(t *testing.T) {
	n, list := newNet(t, 2, 1, 2, worker.KeySpec{Total: 64}, nil)
	sched := n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler)
	if _, err := list[0].Snapshot(n.now, 5, 0); err != nil {
		t.Fatal(err)
	}
	n.settle()
	n.replaceServer(t)
	n.pass(3 * ps.Second)
	for i, sh := range sched.View().Shards {
		if sh.Primary.Server != 0 || !sh.InSync {
			t.Errorf("shard %d during a snapshot: %+v, want it to stay at server 0 and its "+
				"second copy in sync", i, sh)
		}
	}
}

// TestANodeThatWasThePrimaryIsNotTakenForIt wants a worker to learn nothing about who leads from a
// refusal by a server that was the primary: here the worker hears of the epoch after that one only,
// when that server leads again.
func TestANodeThatWasThePrimaryIsNotTakenForIt(t *testing.T) {
	n, list := newNet(t, 2, 2, 2, worker.KeySpec{Total: 64}, nil)
	shard := ps.ShardOf(ps.ID{Key: 1}, 2)
	sched := n.machines[wire.Node{Role: wire.Scheduler}].(*sched.Scheduler)
	first := wire.Node{Role: wire.Server, Rank: sched.View().Shards[shard].Primary.Server}
	second := wire.Node{Role: wire.Server, Rank: 1 - first.Rank}
	zero := wire.Node{Role: wire.Worker}
	push(t, n, list[0], 0)
	n.pass(100 * ps.Millisecond) // received, and the round waits for worker 1
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return to == zero &&
			m.Type == wire.TypeView
	}
	if !sched.Swap(n.now, int(shard)) {
		t.Fatal("no swap")
	}
	// refused by the first, which does not lead any more
	if _, err := list[0].Pull(n.now, 1, make([]byte, 64), 0, 0); err != nil {
		t.Fatal(err)
	}
	lose := n.lose
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		if from == zero && to == first && m.Shard == shard && m.Epoch > 1 {
			t.Errorf("%s is asked as if it led the shard in epoch %d", first, m.Epoch)
		}
		return lose(from, to, m)
	}
	n.pass(ps.Second)
	n.lose = func(from, to wire.Node, m *wire.Message) bool {
		return to == zero && m.Type == wire.TypeView || from == second || to == second
	}
	n.pass(5 * ps.Second)
	n.lose = nil
	push(t, n, list[1], 0)
	n.pass(3 * ps.Second)
	if len(n.done) != 3 {
		t.Errorf("%d of the 2 pushes of the round and its pull have ended", len(n.done))
	}
}
