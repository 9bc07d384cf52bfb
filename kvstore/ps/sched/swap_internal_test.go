package sched

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestPrimariesAreSpread looks at the shard that balance swaps first.
func TestPrimariesAreSpread(t *testing.T) {
	type place struct{ primary, backup int }
	for name, tt := range map[string]struct {
		places []place
		change func(s *Scheduler)
		want   int // shard that swaps; -1: none
	}{
		"even":            {[]place{{0, 1}, {1, 2}, {2, 0}}, nil, -1},
		"one more":        {[]place{{0, 1}, {0, 2}, {1, 2}, {2, 0}}, nil, -1},
		"two more":        {[]place{{1, 2}, {0, 2}, {0, 1}}, nil, 1},
		"over another":    {[]place{{1, 2}, {0, 1}, {0, 1}}, nil, 1},
		"no way":          {[]place{{0, 1}, {0, 1}, {1, 0}}, nil, -1},
		"the shorter way": {[]place{{0, 1}, {1, 2}, {0, 2}}, nil, 2},
		"a lost one": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.view.Shards[2].Lost = true
		}, -1},
		"being swapped": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.view.Shards[0].Swapped = true
		}, -1},
		"other changes": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.changed = true
		}, -1},
		"being written": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.writing = s.view
		}, -1},
		"snapshot ordered": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.snap = &collection{again: 1}
		}, -1},
		"snapshot waits": {[]place{{1, 2}, {0, 2}, {0, 1}}, func(s *Scheduler) {
			s.snap = &collection{}
		}, 1},
	} {
		s := testScheduler(t)
		for _, p := range tt.places {
			s.view.Shards = append(s.view.Shards, wire.Shard{Epoch: 1, InSync: true,
				Primary: s.replica(p.primary), Backup: s.replica(p.backup)})
		}
		if tt.change != nil {
			tt.change(s)
		}
		s.balance()
		got := -1
		for i := range s.view.Shards {
			if s.view.Shards[i].Epoch > 1 {
				got = i
			}
		}
		if got != tt.want {
			t.Errorf("%s: shard %d swaps, want %d", name, got, tt.want)
		}
	}
}

// TestPlacesAreReported loses copies, and looks at the events and the view.
func TestPlacesAreReported(t *testing.T) {
	open := func() (*Scheduler, *wire.Shard) {
		s := testScheduler(t)
		s.view.Shards = []wire.Shard{{Epoch: 4}, {Epoch: 4, Primary: s.replica(0),
			Backup: s.replica(1), InSync: true, Swapped: true}}
		s.told = s.view.Clone()
		return s, &s.view.Shards[1]
	}
	same := func(name string, s *Scheduler, kind ps.EventKind, n wire.Node) {
		t.Helper()
		if e := s.out.Events; !s.changed || len(e) != 1 || e[0].Kind != kind || e[0].Node != n ||
			e[0].Shard != 1 || e[0].Epoch != s.view.Shards[1].Epoch {
			t.Errorf("%s: changed %v, events %+v", name, s.changed, e)
		}
	}
	s, sh := open()
	s.view.Servers[0].Alive = false
	s.replace(1, sh)
	same("promoted", s, ps.EventPromoted, srv(1))
	if want := (wire.Shard{Epoch: 5, Primary: s.replica(1)}); *sh != want {
		t.Errorf("promoted: %+v, want %+v", *sh, want)
	}
	s.out.Reset()
	s.changed = false
	s.view.Servers[0].Alive, s.view.Servers[1].Left = true, true
	s.replace(1, sh)
	same("taken back", s, ps.EventPromoted, srv(0))
	s.out.Reset()
	s, sh = open()
	s.view.Servers[0].Left, s.view.Servers[1].Left = true, true
	s.replace(1, sh)
	same("lost", s, ps.EventLost, wire.Node{})
	if !sh.Lost {
		t.Errorf("lost: %+v", *sh)
	}
	// Requests of the primary, of its epoch, about its backup.
	for name, tt := range map[string]struct {
		me     int
		change func(m *wire.Message)
		ok     bool
	}{
		"right":          {0, func(*wire.Message) {}, true},
		"another server": {1, func(*wire.Message) {}, false},
		"another epoch":  {0, func(m *wire.Message) { m.Epoch-- }, false},
		"another copy":   {0, func(m *wire.Message) { m.SetCopyIncarnation(1) }, false},
		"no such shard":  {0, func(m *wire.Message) { m.Shard = 2 }, false},
	} {
		m := wire.Message{Shard: 1, Epoch: 4}
		m.SetCopyIncarnation(2)
		tt.change(&m)
		s, sh := open()
		sh.InSync = false
		s.inSync(&s.view.Servers[tt.me], &m)
		if sh.InSync != tt.ok || sh.Swapped == tt.ok || s.changed != tt.ok {
			t.Errorf("%s: %+v, changed %v", name, *sh, s.changed)
		}
		if tt.ok {
			same(name, s, ps.EventInSync, srv(1))
		}
		s, sh = open()
		s.diverged(&s.view.Servers[tt.me], &m)
		if sh.Backup.IsZero() != tt.ok || s.changed != tt.ok || len(s.out.Events) > 0 != tt.ok {
			t.Errorf("%s: %+v, changed %v, events %+v", name, *sh, s.changed, s.out.Events)
		}
	}
}

// TestABarrierIsPassedByTheLastCall lets workers call a barrier, one of them again.
func TestABarrierIsPassedByTheLastCall(t *testing.T) {
	d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
	call := func(rank uint16, number uint64) {
		d.say(wkr(rank), wire.TypeBarrier, func(m *wire.Message) {
			m.SetBarrierCall(wire.BarrierCall{Number: number})
		})
	}
	d.say(srv(0), wire.TypeBarrier, func(m *wire.Message) {
		m.SetBarrierCall(wire.BarrierCall{Number: 1})
	})
	call(0, 1)
	call(0, 2)
	d.silent("the other one has not called")
	call(0, 1)
	if m := d.one(wkr(0), wire.TypeWaiting); m.Wait().On != wkr(1) ||
		m.Wait().Of != wire.TypeBarrier {
		t.Errorf("it waits for %+v, want worker 1", m.Wait())
	}
	call(1, 1)
	if d.writing == nil || d.writing.Barrier != 1 {
		t.Fatalf("view %+v, want one barrier", d.writing)
	}
	d.silent("the barrier is not durable")
	d.write()
	ended := map[wire.Node]int{}
	sends, _ := d.flush()
	for i := range sends {
		if m := &sends[i].Msg; m.Type == wire.TypeBarrierDone && m.BarrierCalls() == 1 &&
			m.Target == d.view.Member(sends[i].To).Incarnation {
			ended[sends[i].To]++
		}
	}
	if len(ended) != 2 || ended[wkr(0)] != 1 || ended[wkr(1)] != 1 {
		t.Errorf("ended for %v, want both once", ended)
	}
	call(1, 1) // its answer was lost
	if m := d.one(wkr(1), wire.TypeBarrierDone); m.BarrierCalls() != 1 {
		t.Errorf("%d calls have ended, want 1", m.BarrierCalls())
	}
	// A worker that leaves is not waited for, and calls nothing.
	call(0, 2)
	d.say(wkr(1), wire.TypeBye, nil)
	if d.view.Barrier != 2 {
		t.Errorf("%d barriers, want 2", d.view.Barrier)
	}
	d.write()
	d.flush()
	call(1, 2)
	d.silent("a worker that has left calls")
}
