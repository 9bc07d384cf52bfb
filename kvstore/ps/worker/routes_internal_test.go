package worker

import (
	"errors"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// testAgent returns what the parts of a worker share, for a worker that has joined.
func testAgent(c Config) *agent {
	c.Job, c.Nonce, c.Workers = 1, 1, 2
	c.fill()
	ag := newAgent(c)
	ag.me.Inc, ag.joined = 10, true
	return ag
}

// testRoutes returns the way to one shard on server 0.
func testRoutes(c Config) (*routes, *route) {
	ag := testAgent(c)
	rt := &routes{agent: ag, calls: &calls{agent: ag}}
	r := newRoute(0)
	rt.shards = []*route{r}
	rt.redirect(r, wire.Shard{Epoch: 1, Primary: wire.Replica{Server: 0, Incarnation: 1}})
	return rt, r
}

// give starts a push of n bytes of a key of its own.
func (rt *routes) give(n int) *part {
	k := &workerKey{key: uint32(rt.order), dtype: dtype.Uint8, total: uint64(n)}
	sl := &slice{key: k, id: ps.ID{Key: k.key}}
	k.slices = []*slice{sl}
	p := rt.newPart(rt.newCall(rt.now, "push", k.key, 0), wire.TypePush, 0)
	p.slice, p.payload = sl, make([]byte, n)
	rt.enqueue(p)
	return p
}

// pushed returns the sequences of the pushes that have been sent, and forgets them.
func (rt *routes) pushed() (list []uint64) {
	for i := range rt.me.Out.Sends {
		s := &rt.me.Out.Sends[i]
		if s.Msg.Type == wire.TypePush {
			list = append(list, s.Msg.Seq)
		}
		s.Hold.Return()
	}
	rt.me.Out.Reset()
	return list
}

// receive is an acknowledgement of the shard's primary.
func (rt *routes) receive(r *route, rc wire.Receipt, committed ...uint64) {
	m := wire.Message{Type: wire.TypeAck}
	for _, seq := range committed {
		m.Payload = wire.AppendAck(m.Payload, seq, wire.Applied)
	}
	m.SetReceipt(rc)
	rt.acked(r, &m)
}

func TestRoutesKeepToCreditAndWindow(t *testing.T) {
	rt, r := testRoutes(Config{Credit: 100, Window: 64})
	for range 4 {
		rt.give(40)
	}
	if got := rt.pushed(); len(got) != 2 || r.bytes != 80 {
		t.Fatalf("pushes %v of 40 bytes have left, %d bytes are under way, want 2 with a credit "+
			"of 100", got, r.bytes)
	}
	rt.receive(r, wire.Receipt{Received: 1})
	if got := rt.pushed(); len(got) != 1 || got[0] != 3 || r.bytes != 80 {
		t.Errorf("pushes %v have left after one was received, %d bytes are under way", got, r.bytes)
	}
	rt.receive(r, wire.Receipt{Received: 3}, 1, 2, 3)
	if got := rt.pushed(); len(got) != 1 || got[0] != 4 || r.flight.Len() != 1 ||
		len(rt.me.Out.Done) != 0 {
		t.Errorf("pushes %v have left, %d are under way", got, r.flight.Len())
	}
	rt.receive(r, wire.Receipt{Received: 9})
	if r.received != 3 {
		t.Errorf("received up to %d, and 4 have left", r.received)
	}
	for range 100 {
		rt.give(0)
	}
	if got := rt.pushed(); len(got) != 63 {
		t.Errorf("%d pushes have left, want the 63 that the window takes", len(got))
	}
}

func TestRoutesRepeatWhatIsNotReceived(t *testing.T) {
	rt, r := testRoutes(Config{})
	for range 5 {
		rt.give(8)
	}
	rt.pushed()
	rt.receive(r, wire.Receipt{Received: 2})
	rt.now = rt.me.Timing.Resend - 1
	rt.tickRoute(r)
	if got := rt.pushed(); len(got) > 0 {
		t.Fatalf("pushes %v are sent again before it is time", got)
	}
	rt.now++
	rt.tickRoute(r)
	if got := rt.pushed(); len(got) != 3 || got[0] != 3 || rt.stats.Resends != 3 {
		t.Errorf("pushes %v are sent again, %d counted, want 3 to 5", got, rt.stats.Resends)
	}
	rt.now += rt.me.Timing.Resend / 8
	rt.receive(r, wire.Receipt{Received: 2, Gap: true})
	if got := rt.pushed(); len(got) != 3 {
		t.Errorf("pushes %v are sent again for a gap", got)
	}
	rt.receive(r, wire.Receipt{Received: 2, Gap: true})
	if got := rt.pushed(); len(got) != 0 {
		t.Errorf("pushes %v are sent again for the same gap", got)
	}
	rt.receive(r, wire.Receipt{Received: 5}, 2)
	if r.flight.Len() != 5 || r.flight.First != 1 {
		t.Errorf("%d pushes from %d on, want 5 from 1 on: the first is not committed",
			r.flight.Len(), r.flight.First)
	}
	rt.now += 2 * rt.me.Timing.Resend
	rt.tickRoute(r)
	probes := 0
	for i := range rt.me.Out.Sends {
		if m := &rt.me.Out.Sends[i].Msg; m.Type == wire.TypeProbe && m.Seq == 1 {
			probes++
		}
	}
	if probes != 1 {
		t.Errorf("%d questions after push 1, which is received and not committed, want 1", probes)
	}
	rt.me.Out.Reset()
	rt.receive(r, wire.Receipt{Received: 3, Probed: true})
	if got := rt.pushed(); len(got) != 2 || got[0] != 4 || r.received != 3 {
		t.Errorf("pushes %v are sent again to a primary that has 3, received %d", got, r.received)
	}
	// Another primary has what is committed, and nothing else for certain.
	rt.redirect(r, wire.Shard{Epoch: 2, Primary: wire.Replica{Server: 1, Incarnation: 2}})
	if got := rt.pushed(); len(got) != 4 || got[0] != 1 || got[1] != 3 {
		t.Errorf("pushes %v are sent to the new primary, want 1, 3, 4 and 5", got)
	}
	rt.redirect(r, wire.Shard{Epoch: 1, Primary: wire.Replica{Server: 0, Incarnation: 1}})
	if r.epoch != 2 || len(rt.me.Out.Sends) != 0 {
		t.Error("an old view is followed")
	}
}

func TestRoutesSendByPriority(t *testing.T) {
	rt, r := testRoutes(Config{Credit: 1})
	rt.give(8) // keeps the others back
	low, high := rt.newPart(rt.newCall(0, "push", 1, 0), wire.TypePush, 0),
		rt.newPart(rt.newCall(0, "push", 2, 0), wire.TypePush, 0)
	for _, p := range []*part{low, high} {
		p.payload = make([]byte, 8)
	}
	low.prio, high.prio = -1, 1
	rt.ready(low)
	rt.ready(high)
	rt.receive(r, wire.Receipt{Received: 1})
	if high.seq != 2 || low.seq != 0 {
		t.Errorf("sequences %d and %d, want the higher priority first", high.seq, low.seq)
	}
	rt.receive(r, wire.Receipt{Received: 2})
	if low.seq != 3 {
		t.Errorf("sequence %d of the lower priority, want 3", low.seq)
	}
}

// TestCallsEndWithTheirParts ends a call with the last of its parts, when its memory is back.
func TestCallsEndWithTheirParts(t *testing.T) {
	ag := testAgent(Config{})
	cs := &calls{agent: ag}
	c := cs.newCall(0, "push", 1, 0)
	a, b := cs.newPart(c, wire.TypePush, 0), cs.newPart(c, wire.TypePull, 0)
	cs.name(b)
	b.payload, b.out, b.slice = make([]byte, 1), make([]byte, 1), &slice{}
	hold := a.lend(3)
	if cs.asking(b.req) != b || cs.asking(b.req+1<<20) != nil || cs.asking(1<<19) != nil {
		t.Error("a part is found by its name alone")
	}
	cs.finish(a)
	cs.finish(b)
	if len(ag.me.Out.Done) != 0 || c.left != 1 || c.held != 1 || cs.asking(b.req) != nil {
		t.Fatalf("ended %+v while a transport reads, %d parts left", ag.me.Out.Done, c.left)
	}
	hold.Return()
	cs.reap()
	if len(ag.me.Out.Done) != 1 || ag.me.Out.Done[0].ID != 1 || len(cs.open) != 0 ||
		len(cs.idle) != 2 ||
		len(cs.idleCalls) != 1 {
		t.Fatalf("ended %+v, %d calls open, %d parts and %d calls free", ag.me.Out.Done,
			len(cs.open),
			len(cs.idle), len(cs.idleCalls))
	}
	for _, p := range cs.idle {
		if p.payload != nil || p.out != nil || p.slice != nil {
			t.Error("a part that is free keeps the caller's memory")
		}
	}
	if d := cs.newCall(0, "pull", 2, 0); d != c || d.id != 2 || d.deadline != ag.cfg.Timeout ||
		len(cs.idleCalls) != 0 {
		t.Errorf("the next call is %+v", d)
	}
}

// TestOneBarrierAtATime calls barriers of a worker whose scheduler answers late.
func TestOneBarrierAtATime(t *testing.T) {
	ag := testAgent(Config{})
	cs, pg := &calls{agent: ag}, &progress{agent: ag, started: 3, begun: 5, clock: 4}
	ba := &barriers{agent: ag, calls: cs, progress: pg}
	said := func() (list []wire.BarrierCall) {
		for i := range ag.me.Out.Sends {
			list = append(list, ag.me.Out.Sends[i].Msg.BarrierCall())
		}
		ag.me.Out.Sends = ag.me.Out.Sends[:0]
		return list
	}
	want := wire.BarrierCall{Number: 1, Begun: 5, Before: 3}
	if _, err := ba.enter(0, 0); err != nil {
		t.Fatal(err)
	}
	if got := said(); len(got) != 1 || got[0] != want {
		t.Errorf("said %+v, want %+v", got, want)
	}
	if _, err := ba.enter(0, 0); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a second barrier: got %v", err)
	}
	ba.repeatBarrier()
	ag.now = ag.me.Timing.Resend
	ba.repeatBarrier()
	if got := said(); len(got) != 1 || got[0] != want {
		t.Errorf("repeated %+v, want it once after %v", got, ag.me.Timing.Resend)
	}
	fa := &failing{agent: ag, calls: cs, routes: &routes{agent: ag, calls: cs}}
	fa.failAll(ps.ErrTimeout)
	var e *ps.Error
	if n := len(ag.me.Out.Done); n != 1 || !errors.As(ag.me.Out.Done[0].Err, &e) ||
		e.Peer != node.Scheduler ||
		ba.barrier != nil {
		t.Fatalf("ended %+v", ag.me.Out.Done)
	}
	pg.begun = 9 // the call that ran out of time goes on as it was
	if _, err := ba.enter(0, 0); err != nil {
		t.Fatal(err)
	}
	if got := said(); len(got) != 1 || got[0] != want {
		t.Errorf("said %+v after a call that ran out of time, want %+v", got, want)
	}
	ba.barrierDone(0)
	if ba.barrier == nil {
		t.Fatal("it ends with the word that no call has ended")
	}
	ba.barrierDone(1)
	if ba.barrier != nil || len(ag.me.Out.Done) != 2 || ag.me.Out.Done[1].Err != nil {
		t.Errorf("ended %+v", ag.me.Out.Done)
	}
}

// TestQuestionsSayWhereAWorkerStarts sends a question with the place where its sender starts.
func TestQuestionsSayWhereAWorkerStarts(t *testing.T) {
	rt, _ := testRoutes(Config{Policy: ps.Shrink})
	for _, flags := range []wire.Flags{0, wire.FlagStart} {
		p := rt.newPart(rt.newCall(0, "join", ps.NoKey, 0), wire.TypeAskCursor, 0)
		p.flags, p.own, p.need, p.clock = flags, 3, 4, 5
		rt.ask(p)
	}
	if n := len(rt.me.Out.Sends); n != 2 {
		t.Fatalf("%d messages, want 2", n)
	}
	if m := &rt.me.Out.Sends[0].Msg; m.Flags != 0 || m.StartPoint().Step != 0 {
		t.Errorf("the first says %+v with flags %#x", m.StartPoint(), m.Flags)
	}
	if m := &rt.me.Out.Sends[1].Msg; m.Flags != wire.FlagStart ||
		m.StartPoint() != (wire.StartPoint{Round: 3, Push: 4, Step: 5}) {
		t.Errorf("the second says %+v with flags %#x", m.StartPoint(), m.Flags)
	}
}

// TestOneSnapshotAtATime asks for a snapshot until the scheduler answers.
func TestOneSnapshotAtATime(t *testing.T) {
	ag := testAgent(Config{})
	sn := &snapshotting{agent: ag, calls: &calls{agent: ag}}
	order := wire.SnapshotOrder{Clock: 7, All: true}
	if _, err := sn.askFor(0, order, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := sn.askFor(0, order, 0); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a second snapshot: got %v", err)
	}
	sn.repeatSnapshot()
	if n := len(ag.me.Out.Sends); n != 1 || ag.me.Out.Sends[0].Msg.SnapshotOrder() != order {
		t.Fatalf("sent %+v, want the order once", ag.me.Out.Sends)
	}
	ag.now = ag.me.Timing.Resend
	sn.repeatSnapshot()
	sn.repeatSnapshot()
	if n := len(ag.me.Out.Sends); n != 2 {
		t.Errorf("sent %d times after %v, want 2", n, ag.me.Timing.Resend)
	}
	var m wire.Message
	m.SetSnapshotResult(wire.SnapshotResult{Clock: 6})
	sn.snapshotDone(&m)
	if sn.snap == nil {
		t.Fatal("it ends with the news of another snapshot")
	}
	m.SetSnapshotResult(wire.SnapshotResult{Clock: 7})
	sn.snapshotDone(&m)
	ag.now *= 3
	sn.repeatSnapshot()
	if sn.snap != nil || len(ag.me.Out.Done) != 1 || ag.me.Out.Done[0].Err != nil ||
		len(ag.me.Out.Sends) != 2 {
		t.Errorf("ended %+v, sent %d times", ag.me.Out.Done, len(ag.me.Out.Sends))
	}
	ag.me.Left = true
	if _, err := sn.askFor(0, order, 0); !errors.Is(err, ps.ErrClosed) {
		t.Errorf("of a worker that has left: got %v", err)
	}
}

// TestPushesWaitForAView starts pushes before the worker knows where their shard lives.
func TestPushesWaitForAView(t *testing.T) {
	ag := testAgent(Config{})
	rt := &routes{agent: ag, calls: &calls{agent: ag}}
	r := newRoute(0)
	rt.shards = []*route{r}
	rt.give(8)
	rt.give(8)
	if got := rt.pushed(); len(got) > 0 {
		t.Fatalf("pushes %v are sent to nobody", got)
	}
	rt.redirect(r, wire.Shard{Epoch: 1, Primary: wire.Replica{Server: 1, Incarnation: 1}})
	if got := rt.pushed(); len(got) != 2 {
		t.Errorf("pushes %v are sent to the first primary, want 2", got)
	}
	rt.redirect(r, wire.Shard{Epoch: 2, Primary: wire.Replica{Server: 1, Incarnation: 1},
		Lost: true})
	rt.give(8)
	if got := rt.pushed(); !r.lost || len(got) != 2 || len(rt.shards[0].ready) != 1 {
		t.Errorf("pushes %v are sent about a shard that is lost: %v", got, r.lost)
	}
}

// TestRefusalsFindTheirParts looks for parts by the words of servers.
func TestRefusalsFindTheirParts(t *testing.T) {
	rt, r := testRoutes(Config{})
	push := rt.give(8)
	pull := rt.newPart(rt.newCall(0, "pull", 1, 0), wire.TypePull, 0)
	rt.ask(pull)
	for typ, want := range map[wire.Type]*part{wire.TypePush: push, wire.TypePushPull: push,
		wire.TypeProbe: push,
		wire.TypePull:  nil, wire.TypeInit: nil} {
		if got := rt.meant(r, typ, push.seq); got != want {
			t.Errorf("a word about %s %d: got part %p, want %p", typ, push.seq, got, want)
		}
	}
	if rt.meant(r, wire.TypePull, pull.req) != pull || rt.meant(r, wire.TypePush, pull.req) != nil {
		t.Error("a word about a pull finds another part")
	}
	m := wire.Message{Type: wire.TypeWaiting}
	m.SetWait(wire.Wait{On: node.Scheduler, Of: wire.TypePull, Seq: pull.req})
	if rt.waitingFor(r, &m) != pull.call || rt.waitingFor(newRoute(1), &m) != nil {
		t.Error("a word about a pull names another call")
	}
}
