package sched

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// order lets a worker ask for a snapshot.
func (d *drill) order(n wire.Node, clock uint64, all bool) {
	d.say(n, wire.TypeSnapshot, func(m *wire.Message) {
		m.SetSnapshotOrder(wire.SnapshotOrder{Clock: clock, All: all})
	})
}

// part reports a shard's part by its primary.
func (d *drill) part(shard int, change func(m *wire.Message, r *wire.SnapshotResult)) {
	r := wire.SnapshotResult{Size: uint64(100 + shard), Checksum: uint32(200 + shard)}
	if d.snap != nil {
		r.Clock, r.Try = d.snap.clock, d.snap.try
	}
	sh := &d.view.Shards[min(shard, len(d.view.Shards)-1)]
	d.say(srv(sh.Primary.Server), wire.TypeSnapshotDone, func(m *wire.Message) {
		m.Shard, m.Epoch, m.Payload = uint32(shard), sh.Epoch, []byte{'a' + byte(shard)}
		if change != nil {
			change(m, &r)
		}
		m.SetSnapshotResult(r)
	})
}

// results returns the ends of snapshots that workers have been told, and forgets all messages.
func (d *drill) results() map[wire.Node]wire.SnapshotResult {
	list := map[wire.Node]wire.SnapshotResult{}
	for i := range d.out.Sends {
		if s := &d.out.Sends[i]; s.Msg.Type == wire.TypeSnapshotDone {
			list[s.To] = s.Msg.SnapshotResult()
		}
	}
	d.flush()
	return list
}

// orders returns the servers that have been told of a snapshot, and forgets all messages.
func (d *drill) orders() (list []wire.Node) {
	for i := range d.out.Sends {
		s := &d.out.Sends[i]
		if o := s.Msg.SnapshotOrder(); s.Msg.Type == wire.TypeSnapshot && o.Clock == d.snap.clock &&
			o.Try == d.snap.try && o.All == d.snap.all {
			list = append(list, s.To)
		}
	}
	d.flush()
	return list
}

func snapshotDrill(t *testing.T) *drill {
	return newDrill(t, Config{Servers: 2, Workers: 3, Replicas: 1, Shards: 2})
}

// TestASnapshotIsCollected makes a snapshot from the first order to the durable view.
func TestASnapshotIsCollected(t *testing.T) {
	d := snapshotDrill(t)
	d.order(wkr(1), 5, false)
	if got := d.orders(); len(got) != 2 || got[0] != srv(0) || got[1] != srv(1) {
		t.Fatalf("told to %v, want both servers", got)
	}
	d.order(wkr(0), 5, false)
	if d.silent("a second worker asks"); len(d.snap.asked) != 2 {
		t.Errorf("%v wait for it", d.snap.asked)
	}
	d.order(wkr(0), 5, false)
	if m := d.one(wkr(0), wire.TypeWaiting); m.Wait().On != srv(0) ||
		m.Wait().Of != wire.TypeSnapshot {
		t.Errorf("it waits for %+v, want server 0", m.Wait())
	}
	d.part(0, nil)
	d.order(wkr(0), 5, false)
	if m := d.one(wkr(0), wire.TypeWaiting); m.Wait().On != srv(1) {
		t.Errorf("it waits for %+v, want server 1", m.Wait())
	}
	if d.out.Manifest != nil {
		t.Fatal("there is a manifest before there are all parts")
	}
	if d.Recorded(d.at, 5, nil); d.snap == nil {
		t.Fatal("a snapshot is recorded before it is whole")
	}
	d.part(1, nil)
	m := d.out.Manifest
	if m == nil || m.Job != 1 || m.Clock != 5 || len(m.Files) != 2 {
		t.Fatalf("manifest %+v, want two files at clock 5", m)
	}
	for i, f := range m.Files {
		want := wire.SnapshotFile{Shard: uint32(i), Checksum: uint32(200 + i),
			Size: uint64(100 + i), Name: string(rune('a' + i))}
		if f != want {
			t.Errorf("file %+v, want %+v", f, want)
		}
	}
	d.flush()
	d.part(1, func(m *wire.Message, _ *wire.SnapshotResult) { m.Payload = []byte("x") })
	if d.out.Manifest != nil || d.snap.files[1].Name != "b" {
		t.Error("a part is taken in behind the last one")
	}
	d.order(wkr(2), 6, false) // one after the other
	if d.silent("another one is asked for"); d.snap.clock != 5 {
		t.Errorf("a snapshot at %d is being made", d.snap.clock)
	}
	d.order(wkr(2), 5, false)
	if d.silent("a third worker asks"); d.snap.clock != 5 || len(d.snap.asked) != 3 {
		t.Errorf("%v wait for it", d.snap.asked)
	}
	// A snapshot whose manifest is being written is not given up, nor asked for again.
	d.pass(d.cfg.Timing.Dead * 2)
	if d.snap == nil || len(d.orders()) > 0 {
		t.Fatal("a snapshot is given up or asked for whose manifest is being written")
	}
	if d.Recorded(d.at, 4, nil); d.snap == nil {
		t.Error("another clock is recorded")
	}
	d.Recorded(d.at, 5, nil)
	_, events := d.flush()
	if d.snap != nil || d.out.View != nil && d.writing == nil || d.writing.Snapshot != 5 ||
		len(events) != 1 || events[0].Kind != ps.EventSnapshot {
		t.Fatalf("recorded: %+v, view %+v, events %+v", d.snap, d.writing, events)
	}
	// Workers that ask now hear of it with the others, when the view is durable.
	if d.order(wkr(2), 5, false); len(d.results()) != 0 {
		t.Error("a worker hears of a snapshot whose view is not durable")
	}
	d.order(wkr(2), 5, true)
	d.order(wkr(2), 4, true)
	d.silent("repeated orders")
	d.write()
	want := wire.SnapshotResult{Clock: 5}
	if got := d.results(); len(got) != 3 || got[wkr(0)] != want || got[wkr(1)] != want ||
		got[wkr(2)] != want {
		t.Errorf("told %+v, want 3 workers", got)
	}
	if len(d.answer) > 0 {
		t.Errorf("%v are to hear of it again", d.answer)
	}
	// Later orders for it are answered; of everything, orders for earlier clocks too.
	for _, o := range []wire.SnapshotOrder{{Clock: 5}, {Clock: 5, All: true},
		{Clock: 4, All: true}} {
		d.order(wkr(1), o.Clock, o.All)
		if got := d.results(); len(got) != 1 || got[wkr(1)].Clock != o.Clock || d.snap != nil {
			t.Errorf("order %+v: told %+v", o, got)
		}
	}
	for _, o := range []wire.SnapshotOrder{{Clock: 6}, {Clock: 4}, {Clock: 6, All: true}, {}} {
		d.snap = nil
		d.order(wkr(1), o.Clock, o.All)
		if got := d.results(); len(got) != 0 || d.snap == nil || d.snap.clock != o.Clock ||
			d.snap.all != o.All {
			t.Errorf("order %+v: told %+v, %+v", o, got, d.snap)
		}
	}
}

// TestWhoMayOrderASnapshot sends orders of servers, and before there are shards.
func TestWhoMayOrderASnapshot(t *testing.T) {
	d := snapshotDrill(t)
	d.order(srv(0), 5, false)
	if d.silent("a server"); d.snap != nil {
		t.Error("a server orders a snapshot")
	}
	s, err := New(Config{Job: 1, Servers: 2, Workers: 1, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	d = &drill{t: t, Scheduler: s, at: ps.Second}
	d.join(wkr(0), 1)
	d.order(wkr(0), 5, false)
	if d.snap != nil {
		t.Error("a snapshot is made of no shards")
	}
}

// TestAttemptsHaveNumbers begins snapshots one after the other, and by another scheduler.
func TestAttemptsHaveNumbers(t *testing.T) {
	d := snapshotDrill(t)
	tries := map[uint32]bool{}
	for range 3 {
		for clock := range uint64(3) {
			d.snap = nil
			d.order(wkr(0), 5+clock, false)
			if tries[d.snap.try] || d.snap.try>>12 != uint32(d.told.Number) {
				t.Fatalf("attempt %#x under view %d, after %v", d.snap.try, d.told.Number, tries)
			}
			tries[d.snap.try] = true
		}
		d.snap = nil
		d.say(wkr(2), wire.TypeBye, nil)
		d.write()
	}
	d.told.Number, d.tries, d.snap = 0x10001, 0x1fff, nil
	if d.order(wkr(0), 9, false); d.snap.try != 0x10001<<12 {
		t.Errorf("attempt %#x, want %#x", d.snap.try, 0x10001<<12)
	}
}

// TestASnapshotOfEverythingWaitsForAll has one worker that leaves in the meantime.
func TestASnapshotOfEverythingWaitsForAll(t *testing.T) {
	d := snapshotDrill(t)
	d.order(wkr(0), 5, true)
	d.order(wkr(2), 5, true)
	d.silent("one worker has not asked")
	d.order(wkr(0), 5, true)
	if m := d.one(wkr(0), wire.TypeWaiting); m.Wait().On != wkr(1) {
		t.Errorf("it waits for %+v, want worker 1", m.Wait())
	}
	d.at += d.cfg.Timing.Resend
	d.Tick(d.at)
	if got := d.orders(); len(got) > 0 {
		t.Errorf("told to %v before all have asked", got)
	}
	d.say(wkr(1), wire.TypeBye, nil)
	d.write()
	d.flush()
	d.Tick(d.at)
	if got := d.orders(); len(got) != 2 {
		t.Errorf("told to %v, want both servers", got)
	}
	d = snapshotDrill(t)
	d.order(wkr(0), 5, true)
	d.order(wkr(2), 5, true)
	d.order(wkr(1), 5, true)
	if got := d.orders(); len(got) != 2 {
		t.Errorf("told to %v, want both servers", got)
	}
}

// TestSnapshotsOfTwoClocksAreMadeInTurn lets two workers ask for snapshots of different clocks,
// again and again: the first one is made, then the other.
func TestSnapshotsOfTwoClocksAreMadeInTurn(t *testing.T) {
	d := snapshotDrill(t)
	for range 3 {
		d.order(wkr(0), 5, false)
		d.flush()
		d.order(wkr(1), 6, false)
		if m := d.one(wkr(1), wire.TypeWaiting); m.Wait().On != srv(0) {
			t.Errorf("worker 1 waits for %+v, want server 0", m.Wait())
		}
		if d.snap.clock != 5 {
			t.Fatalf("a snapshot at clock %d is made, want 5", d.snap.clock)
		}
	}
	d.part(0, nil)
	d.part(1, nil)
	d.order(wkr(1), 6, false)
	if d.snap.clock != 5 {
		t.Fatal("a snapshot begins while the manifest of another one is written")
	}
	d.Recorded(d.at, 5, nil)
	d.write()
	if got := d.results(); len(got) != 1 || got[wkr(0)].Failure != 0 || got[wkr(0)].Clock != 5 {
		t.Errorf("results %+v, want that worker 0 has its snapshot", got)
	}
	d.order(wkr(1), 6, false)
	if d.snap == nil || d.snap.clock != 6 {
		t.Errorf("%+v is made, want a snapshot at clock 6", d.snap)
	}
}

// TestNumbersOfSnapshotsOfEverythingGrow lets workers ask for snapshots of everything with
// different numbers, none of which can have all workers but the highest.
func TestNumbersOfSnapshotsOfEverythingGrow(t *testing.T) {
	d := snapshotDrill(t)
	d.order(wkr(0), 5, true)
	d.order(wkr(1), 4, true)
	if got := d.results(); len(got) != 1 || got[wkr(1)].Clock != 4 ||
		got[wkr(1)].Failure != wire.FailureLate || d.snap.clock != 5 {
		t.Errorf("results %+v and %+v is made, want that number 4 fails", got, d.snap)
	}
	d.order(wkr(2), 6, true)
	if got := d.results(); len(got) != 1 || got[wkr(0)].Clock != 5 ||
		got[wkr(0)].Failure != wire.FailureLate || d.snap.clock != 6 {
		t.Errorf("results %+v and %+v is made, want that number 5 fails", got, d.snap)
	}
	d.order(wkr(0), 6, true)
	d.order(wkr(1), 6, true)
	if got := d.orders(); len(got) != 2 {
		t.Errorf("told to %v, want both servers", got)
	}
	// Servers make it: a higher number waits for its end.
	d.order(wkr(0), 7, true)
	if d.one(wkr(0), wire.TypeWaiting); d.snap.clock != 6 {
		t.Errorf("%+v is made, want number 6", d.snap)
	}
}

// TestOrdersAreRepeatedUntilNobodyWaits repeats orders to live servers, as long as workers ask.
func TestOrdersAreRepeatedUntilNobodyWaits(t *testing.T) {
	d := snapshotDrill(t)
	d.order(wkr(0), 5, false)
	d.order(wkr(1), 5, false)
	d.flush()
	d.view.Servers[1].Alive = false
	d.at += d.cfg.Timing.Resend - 1
	d.Tick(d.at)
	if got := d.orders(); len(got) > 0 {
		t.Errorf("told to %v before it is time", got)
	}
	for range 2 {
		d.at++
		d.Tick(d.at)
		if got := d.orders(); len(got) != 1 || got[0] != srv(0) {
			t.Errorf("told to %v, want server 0", got)
		}
		d.at += d.cfg.Timing.Resend - 1
	}
	d.view.Servers[1].Alive = true
	d.part(1, nil)
	name := d.snap.files[1].Name
	d.order(wkr(0), 5, false) // it still waits
	d.pass(d.cfg.Timing.Dead)
	if d.snap == nil {
		t.Fatal("the snapshot is given up after Dead")
	}
	d.flush()
	d.pass(1)
	_, events := d.flush()
	if d.snap != nil || len(events) != 1 || events[0].Kind != ps.EventSnapshot {
		t.Errorf("behind Dead: %+v, events %+v", d.snap, events)
	}
	d.order(wkr(0), 5, false)
	d.part(1, nil)
	d.at += d.cfg.Timing.Suspect + 1 // the scheduler has not heard anybody
	d.Tick(d.at)
	if d.snap == nil || d.snap.heard != d.awake.Time {
		t.Error("a stall counts as silence of workers")
	}
	d.awake.Time += d.cfg.Timing.Dead + 1
	d.out.Discard = nil
	d.tickSnapshot()
	if got := d.out.Discard; len(got) != 1 || got[0] != (ps.Part{Clock: 5, Name: name}) {
		t.Errorf("removed %+v, want %s", got, name)
	}
}

// TestWhichPartsCount reports parts that are of no use.
func TestWhichPartsCount(t *testing.T) {
	type report = func(m *wire.Message, r *wire.SnapshotResult)
	for name, tt := range map[string]struct {
		change  report
		discard bool
	}{
		"another clock": {func(_ *wire.Message, r *wire.SnapshotResult) { r.Clock++ },
			true},
		"another attempt": {func(_ *wire.Message, r *wire.SnapshotResult) { r.Try++ },
			true},
		"a snapshot that is there": {func(_ *wire.Message, r *wire.SnapshotResult) { r.Clock = 3 },
			false},
		"the one before": {func(_ *wire.Message, r *wire.SnapshotResult) { r.Clock = 2 },
			false},
		"another failure": {func(_ *wire.Message, r *wire.SnapshotResult) {
			r.Clock, r.Failure = 6, wire.FailureLate
		}, false},
		"no such shard":   {func(m *wire.Message, _ *wire.SnapshotResult) { m.Shard = 2 }, false},
		"another epoch":   {func(m *wire.Message, _ *wire.SnapshotResult) { m.Epoch++ }, false},
		"another primary": {func(m *wire.Message, _ *wire.SnapshotResult) { m.Shard = 1 }, false},
	} {
		d := snapshotDrill(t)
		d.view.Snapshot = 3
		d.order(wkr(0), 5, false)
		d.out.Reset()
		d.part(0, tt.change)
		if len(d.snap.files) > 0 || d.snap == nil {
			t.Errorf("%s: files %v", name, d.snap.files)
		}
		if got := len(d.out.Discard) == 1; got != tt.discard {
			t.Errorf("%s: removed %+v, want one: %v", name, d.out.Discard, tt.discard)
		}
	}
	d := snapshotDrill(t)
	d.part(0, func(_ *wire.Message, r *wire.SnapshotResult) { r.Clock = 5 })
	if got := d.out.Discard; len(got) != 1 || got[0] != (ps.Part{Clock: 5, Name: "a"}) {
		t.Errorf("removed %+v, want a part of a snapshot that is not made", got)
	}
}

// TestASnapshotFails lets a server, and the scheduler's driver, fail to write.
func TestASnapshotFails(t *testing.T) {
	d := snapshotDrill(t)
	d.order(wkr(0), 5, false)
	d.order(wkr(1), 5, false)
	d.part(1, nil)
	d.flush()
	d.part(0, func(_ *wire.Message, r *wire.SnapshotResult) { r.Failure = wire.FailureLate })
	discard := d.out.Discard
	want := wire.SnapshotResult{Clock: 5, Failure: wire.FailureLate}
	if got := d.results(); len(got) != 2 || got[wkr(0)] != want || got[wkr(1)] != want ||
		d.snap != nil || len(discard) != 1 {
		t.Errorf("told %+v, removed %v", got, discard)
	}
	d.order(wkr(0), 5, false)
	d.part(0, nil)
	d.part(1, nil)
	d.flush()
	d.Recorded(d.at, 5, errors.New("disk full"))
	discard = d.out.Discard
	events := d.out.Events
	want.Failure = wire.FailureUnwritten
	if len(events) != 1 || events[0].Kind != ps.EventSnapshot {
		t.Errorf("events %+v, want one", events)
	}
	if got := d.results(); len(got) != 1 || got[wkr(0)] != want || d.snap != nil ||
		len(discard) != 2 || d.view.Snapshot != 0 {
		t.Errorf("told %+v, removed %v", got, discard)
	}
	d.Recorded(d.at, 5, nil)
	d.silent("a snapshot that has failed")
}
