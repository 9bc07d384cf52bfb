package worker

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// TestWhichServersCount sends messages of servers under several epochs.
func TestWhichServersCount(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *wire.Message)
		asked  bool
		taken  bool
		epoch  uint64
	}{
		"the primary":    {func(*wire.Message) {}, false, true, 3},
		"an older epoch": {func(m *wire.Message) { m.Epoch = 2 }, false, false, 3},
		"a later epoch":  {func(m *wire.Message) { m.Epoch = 4 }, true, true, 4},
		"no such shard": {func(m *wire.Message) { m.Shard, m.Epoch = 1, 4 }, false, false,
			3},
		"another server":  {func(m *wire.Message) { m.From = srv(1) }, false, false, 3},
		"another process": {func(m *wire.Message) { m.Incarnation = 9 }, false, false, 3},
		"another server, later": {func(m *wire.Message) { m.From, m.Epoch = srv(1), 4 }, true,
			false, 3},
		"another process, later": {func(m *wire.Message) { m.Incarnation, m.Epoch = 9, 4 }, true,
			false, 3},
		"a former primary": {func(m *wire.Message) {
			m.Type, m.Epoch = wire.TypeReject, 4
			m.SetRefusal(wire.Refusal{Reason: wire.ReasonNotPrimary})
		}, true, false, 3},
		"a former process": {func(m *wire.Message) {
			m.Type, m.Epoch = wire.TypeReject, 4
			m.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation})
		}, true, false, 3},
		"the primary refuses": {func(m *wire.Message) {
			m.Type, m.Epoch = wire.TypeReject, 4
			m.SetRefusal(wire.Refusal{Reason: wire.ReasonUnknownKey})
		}, true, false, 4},
	} {
		d := joinedDrill(t, Config{}, 1)
		d.v.Shards[0].Epoch = 3
		d.tell()
		d.key(1, KeySpec{Total: 8})
		if _, err := d.Push(d.at, PushOp{Key: 1, Value: make([]byte, 8)}); err != nil {
			t.Fatal(err)
		}
		d.sent()
		d.me.Asked = false
		m := wire.Message{Type: wire.TypeAck, Job: 1, From: srv(0), Incarnation: 1, Epoch: 3,
			Payload: wire.AppendAck(nil, 1, wire.Applied)}
		tt.change(&m)
		d.Handle(d.at, m.From, &m)
		taken := d.shards[0].flight.Len() == 0
		if d.me.Asked != tt.asked || taken != tt.taken || d.shards[0].epoch != tt.epoch {
			t.Errorf("%s: asks for a view %v, taken in %v, epoch %d, want %v, %v, %d", name,
				d.me.Asked, taken, d.shards[0].epoch, tt.asked, tt.taken, tt.epoch)
		}
	}
}

// TestRefusalsEndCalls refuses a pull for every reason.
func TestRefusalsEndCalls(t *testing.T) {
	for why, tt := range map[wire.Reason]struct{ asked, failed bool }{
		wire.ReasonEpoch:       {true, false},
		wire.ReasonNotPrimary:  {true, false},
		wire.ReasonIncarnation: {true, false},
		wire.ReasonUnknownKey:  {false, false},
		wire.ReasonShape:       {false, true},
		wire.ReasonMemory:      {false, true},
	} {
		d := joinedDrill(t, Config{}, 1)
		d.key(1, KeySpec{Total: 8})
		if _, err := d.Pull(d.at, 1, make([]byte, 8), 0, 0); err != nil {
			t.Fatal(err)
		}
		q := d.one(wire.TypePull)
		d.me.Asked = false
		m := wire.Message{Type: wire.TypeReject}
		m.SetRefusal(wire.Refusal{Reason: why, Of: wire.TypePull, Seq: q.Seq})
		d.serve(0, m)
		failed := len(d.me.Out.Done) == 1
		if d.me.Asked != tt.asked || failed != tt.failed {
			t.Errorf("%s: asks for a view %v, call failed %v", why, d.me.Asked, failed)
		}
		if failed && !errors.Is(d.me.Out.Done[0].Err, ps.ErrRejected) {
			t.Errorf("%s: %v", why, d.me.Out.Done[0].Err)
		}
	}
	d := joinedDrill(t, Config{}, 1)
	d.schedule(wire.Message{Type: wire.TypeBatch, Payload: []byte{1, 2, 3}})
	if n := len(d.me.Out.Events); n == 0 || d.me.Out.Events[n-1].Kind != ps.EventRefused {
		t.Error("a damaged batch is not reported")
	}
}

// TestPullsAskForNoOlderVersion pulls slices whose later versions have been seen.
func TestPullsAskForNoOlderVersion(t *testing.T) {
	for _, tt := range []struct {
		direct bool
		flags  wire.Flags
		want   uint64
	}{{false, 0, 9}, {false, wire.FlagExact, 2}, {true, 0, 2}} {
		d := joinedDrill(t, Config{}, 1)
		d.key(1, KeySpec{Total: 8, Direct: tt.direct})
		sl := d.keys[1].slices[0]
		sl.seen = 9
		p := d.newPart(d.newCall(d.at, "pull", 1, 0), wire.TypePull, 0)
		p.slice, p.need, p.flags = sl, 2, tt.flags
		d.ask(p)
		if m := d.one(wire.TypePull); m.Need != tt.want {
			t.Errorf("%+v: needs %d", tt, m.Need)
		}
	}
}

// TestCommittedPushesReturnTheirCredit commits a push that was never said to be received.
func TestCommittedPushesReturnTheirCredit(t *testing.T) {
	rt, r := testRoutes(Config{})
	for range 3 {
		rt.give(40)
	}
	rt.pushed()
	rt.receive(r, wire.Receipt{}, 2)
	if r.bytes != 80 {
		t.Errorf("%d bytes are under way, want 80", r.bytes)
	}
	rt.receive(r, wire.Receipt{Received: 3})
	if r.bytes != 0 {
		t.Errorf("%d bytes are under way, want none", r.bytes)
	}
}

// TestLongWaitsAreReportedOnce tells a call for which node it waits.
func TestLongWaitsAreReportedOnce(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	if _, err := d.Barrier(d.at, d.at+100*ps.Second); err != nil {
		t.Fatal(err)
	}
	tell := func(of wire.Type, seq uint64, on wire.Node) int {
		n := len(d.me.Out.Events)
		m := wire.Message{Type: wire.TypeWaiting}
		m.SetWait(wire.Wait{On: on, Of: of, Seq: seq})
		d.schedule(m)
		return len(d.me.Out.Events) - n
	}
	other := wire.Node{Role: wire.Worker, Rank: 1}
	wait := func(dt ps.Time) {
		for end := d.at + dt; d.at < end; {
			d.at = min(end, d.at+100*ps.Millisecond)
			d.start(d.at)
		}
	}
	if n := tell(wire.TypeBarrier, 2, other); n != 0 || d.waitsFor() != -1 {
		t.Errorf("another call waits for worker %d", d.waitsFor())
	}
	wait(slowCall - 1)
	if n := tell(wire.TypeBarrier, 1, other); n != 0 || d.waitsFor() != 1 {
		t.Errorf("%d events before it is time, waits for worker %d", n, d.waitsFor())
	}
	wait(1)
	for _, want := range []int{1, 0} {
		if n := tell(wire.TypeBarrier, 1, other); n != want {
			t.Errorf("%d events, want %d", n, want)
		}
	}
	if e := d.me.Out.Events[len(d.me.Out.Events)-1]; e.Kind != ps.EventWaiting || e.Node != other ||
		e.Text != "barrier for 5.0 s" {
		t.Errorf("event %+v", e)
	}
	if tell(wire.TypeBarrier, 1, node.Scheduler); d.waitsFor() != -1 {
		t.Errorf("waits for worker %d, want none", d.waitsFor())
	}
}

// TestAWorkerThatWasGivenUp sees in a view that it is dead: under Shrink it cannot go on.
func TestAWorkerThatWasGivenUp(t *testing.T) {
	for _, policy := range []ps.Policy{ps.Wait, ps.Shrink} {
		d := joinedDrill(t, Config{Policy: policy}, 1)
		if _, err := d.Barrier(d.at, 0); err != nil {
			t.Fatal(err)
		}
		d.v.Workers[0].Alive = false
		d.tell()
		over := policy == ps.Shrink
		if d.Fenced() != over || len(d.me.Out.Done) == 1 != over ||
			errors.Is(d.Err(), ps.ErrFenced) != over {
			t.Errorf("%s: fenced %v, calls ended %+v", policy, d.Fenced(), d.me.Out.Done)
		}
	}
}

// TestLatePushesAreCounted commits pushes with outcomes that count and do not.
func TestLatePushesAreCounted(t *testing.T) {
	rt, r := testRoutes(Config{})
	for range 3 {
		rt.give(8)
	}
	rt.pushed()
	m := wire.Message{Type: wire.TypeAck}
	for seq, o := range []wire.Outcome{wire.Applied, wire.Late, wire.Known} {
		m.Payload = wire.AppendAck(m.Payload, uint64(seq+1), o)
	}
	rt.acked(r, &m)
	if rt.stats.Pushes != 3 || rt.stats.Late != 1 {
		t.Errorf("%d pushes, %d late, want 3 and 1", rt.stats.Pushes, rt.stats.Late)
	}
}
