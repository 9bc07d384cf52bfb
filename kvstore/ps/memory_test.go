package ps_test

import (
	"testing"
	"unsafe"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/worker"
	"gomx/kvstore/wire"
)

// What a worker lends to a transport, and when its callers have it back.

// borrower is a transport that keeps payloads until it is told to give them back.
type borrower struct {
	w      *worker.Worker
	kept   []*ps.Loan
	sent   []*byte // where the payloads of the last step begin
	recall []wire.Node
	done   []ps.Done
}

// step carries out what the worker wants.
func (b *borrower) step() {
	out := b.w.Out()
	b.sent = b.sent[:0]
	for i := range out.Sends {
		if s := &out.Sends[i]; s.Hold != nil {
			b.kept, b.sent = append(b.kept, s.Hold), append(b.sent, unsafe.SliceData(s.Msg.Payload))
		}
	}
	b.recall = append(b.recall, out.Recall...)
	b.done = append(b.done, out.Done...)
	out.Reset()
}

// giveBack ends the oldest loan.
func (b *borrower) giveBack() {
	hold := b.kept[0]
	b.kept = b.kept[1:]
	b.w.Release(hold)
	b.step()
}

// large is a key of two slices that are too large for batches, which are copied.
var large = worker.KeySpec{Total: 64 << 10}

// borrowed is a job of one server and two workers. What worker 0 has pushed to the large key is
// with its transport.
func borrowed(t *testing.T, deadline ps.Time) (n *net, b *borrower, value []byte, id uint64) {
	t.Helper()
	n, list := newNet(t, 1, 2, 1, large, func(c *worker.Config) { c.SliceSize = 32 << 10 })
	b, value = &borrower{w: list[0]}, make([]byte, large.Total)
	id, err := b.w.Push(n.now, worker.PushOp{Key: 1, Value: value, Out: make([]byte, large.Total),
		Deadline: n.now + deadline})
	if err != nil {
		t.Fatal(err)
	}
	b.step()
	if len(b.kept) != 2 || b.sent[0] != &value[0] || b.sent[1] != &value[32<<10] {
		t.Fatalf("%d payloads are lent, want the 2 slices of the value", len(b.kept))
	}
	return n, b, value, id
}

// TestCallsEndWhenTheirMemoryIsBack lets a deadline pass while a transport still reads what is
// pushed: the connection is recalled, the call ends when the last payload is back, and what is sent
// from then on is a copy.
func TestCallsEndWhenTheirMemoryIsBack(t *testing.T) {
	n, b, value, id := borrowed(t, 200*ps.Millisecond)
	n.now += 200 * ps.Millisecond
	b.w.Tick(n.now)
	b.step()
	if len(b.done) > 0 || len(b.recall) != 1 || b.recall[0] != leader {
		t.Fatalf("%d calls have ended while their memory is lent, recalled from %v, want none "+
			"and %v", len(b.done), b.recall, leader)
	}
	b.giveBack()
	if len(b.done) > 0 {
		t.Fatal("the call has ended with one of two slices lent")
	}
	b.giveBack()
	wantError(t, b.done, id, ps.ErrTimeout)
	for range 4 {
		n.now += 200 * ps.Millisecond
		b.w.Tick(n.now)
		b.step()
		for _, p := range b.sent {
			if p == &value[0] || p == &value[32<<10] {
				t.Fatal("the caller's memory is lent after the call has ended")
			}
		}
	}
	if len(b.kept) == 0 || len(b.recall) != 1 || len(b.done) != 1 {
		t.Errorf("%d payloads sent again, recalled from %v, %d ends, want some, one recall and "+
			"one end", len(b.kept), b.recall, len(b.done))
	}
	for len(b.kept) > 0 {
		b.giveBack()
	}
	if err := b.w.Audit(); err != nil {
		t.Error(err)
	}
}

// commitTwo sends what there is, and lets the server acknowledge the first two pushes.
func (b *borrower) commitTwo(now ps.Time) {
	b.step()
	ack := wire.Message{Type: wire.TypeAck, Job: job, From: leader,
		Incarnation: b.w.View().Shards[0].Primary.Incarnation, Epoch: 1,
		Payload: wire.AppendAck(wire.AppendAck(nil, 1, wire.Applied), 2, wire.Applied)}
	ack.SetReceipt(wire.Receipt{Received: 2})
	b.w.Handle(now, leader, &ack)
	b.step()
}

// TestCommittedCallsWaitForTheirMemory lets pushes be committed while a transport still reads them,
// a repetition perhaps: the call ends well when its memory is back, which its deadline recalls.
func TestCommittedCallsWaitForTheirMemory(t *testing.T) {
	n, list := newNet(t, 1, 2, 1, large, func(c *worker.Config) { c.SliceSize = 32 << 10 })
	b := &borrower{w: list[0]}
	id, err := b.w.Push(n.now, worker.PushOp{Key: 1, Value: make([]byte, large.Total),
		Deadline: n.now +
			ps.Second})
	if err != nil {
		t.Fatal(err)
	}
	b.commitTwo(n.now)
	if !b.w.Drained() || len(b.done) > 0 || len(b.recall) > 0 {
		t.Fatalf("committed: %v, %d ends, recalled from %v, want no end while the memory is "+
			"lent, and no recall", b.w.Drained(), len(b.done), b.recall)
	}
	for range 3 {
		n.now += ps.Second
		b.w.Tick(n.now)
		b.step()
	}
	if len(b.done) > 0 || len(b.recall) != 1 {
		t.Fatalf("%d ends, recalled from %v, want one recall at the deadline", len(b.done),
			b.recall)
	}
	for len(b.kept) > 0 {
		b.giveBack()
	}
	wantError(t, b.done, id, nil)
}

// TestStepsDoNotWaitForMemory wants Clock, whose rows are copies, to end when they are committed.
func TestStepsDoNotWaitForMemory(t *testing.T) {
	n, list := newNet(t, 1, 1, 1, worker.KeySpec{Total: 64}, nil)
	table, _, err := list[0].Table(n.now, 3, worker.TableSpec{Rows: 1, RowSize: 64 << 10}, 0)
	if err != nil {
		t.Fatal(err)
	}
	n.until(t, 1)
	if err := table.Inc(0, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	b := &borrower{w: list[0]}
	id, err := b.w.Clock(n.now, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.commitTwo(n.now)
	if len(b.kept) == 0 {
		t.Fatal("no payload is lent")
	}
	wantError(t, b.done, id, nil)
}

// TestACallThatHasTheJoinsPlace lets the call after Join run out of time while one of its pushes
// goes on: the next call must not take what is left of it for its own.
func TestACallThatHasTheJoinsPlace(t *testing.T) {
	n, list := pair(t)
	buf := make([]byte, 64)
	for range 3 { // calls are used again, that of Join among them
		id, err := list[0].Push(n.now, worker.PushOp{Key: 1, Value: buf, Deadline: n.now +
			ps.Second})
		if err != nil {
			t.Fatal(err)
		}
		n.pass(1200 * ps.Millisecond)
		wantError(t, n.done, id, ps.ErrTimeout)
		if err := list[0].Audit(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHastySchedules wants the simulation to meet deadlines that pass while memory is lent.
func TestHastySchedules(t *testing.T) {
	late, recalls := 0, 0
	for seed := uint64(1); seed < 200 && (late < 100 || recalls < 3); seed++ {
		s := simulate(seed, nil)
		s.report(t)
		late, recalls = late+s.late, recalls+s.recalls
	}
	if late < 100 || recalls < 3 {
		t.Errorf("%d deadlines passed, %d connections were dropped, want at least 100 and 3", late,
			recalls)
	}
}
