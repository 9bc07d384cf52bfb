package sched

import (
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// testScheduler returns a scheduler of three servers that all live, at time 100 s awake.
func testScheduler(t *testing.T) *Scheduler {
	t.Helper()
	s, err := New(Config{Job: 1, Servers: 3, Workers: 1, Shards: 3, Replicas: 2})
	if err != nil {
		t.Fatal(err)
	}
	s.awake.Time, s.awake.Began, s.proof = 100*ps.Second, true, 7
	for i := range s.view.Servers {
		m := &s.view.Servers[i]
		m.Incarnation, m.Alive = uint32(i+1), true
		s.last[m.Node], s.seen[m.Node] = s.awake.Time, s.proof
	}
	return s
}

// TestCopiesAreTrustedWithinBounds looks at servers that have been silent for different times.
func TestCopiesAreTrustedWithinBounds(t *testing.T) {
	one := wire.Replica{Server: 1, Incarnation: 2}
	node := wire.Node{Role: wire.Server, Rank: 1}
	for name, tt := range map[string]struct {
		change          func(s *Scheduler, m *wire.Member)
		fresh, hopeless bool
	}{
		"heard of now": {func(*Scheduler, *wire.Member) {}, true, false},
		"silent for Suspect": {func(s *Scheduler,
			_ *wire.Member) {
			s.last[node] -= s.cfg.Timing.Suspect
		}, true, false},
		"silent for longer": {func(s *Scheduler,
			_ *wire.Member) {
			s.last[node] -= s.cfg.Timing.Suspect + 1
		}, false, false},
		"of an earlier view": {func(s *Scheduler, _ *wire.Member) { s.seen[node]-- }, false,
			false},
		"given up": {func(_ *Scheduler, m *wire.Member) { m.Alive = false }, false,
			false},
		"replaced": {func(_ *Scheduler, m *wire.Member) { m.Incarnation++ }, false,
			true},
		"left": {func(_ *Scheduler, m *wire.Member) { m.Left = true }, false, true},
		"silent for Patience": {func(s *Scheduler, m *wire.Member) {
			m.Alive, s.last[node] = false,
				s.last[node]-s.cfg.Timing.Patience
		}, false, false},
		"silent beyond that": {func(s *Scheduler, m *wire.Member) {
			m.Alive, s.last[node] = false, s.last[node]-s.cfg.Timing.Patience-1
		}, false, true},
		"alive in spite of it": {func(s *Scheduler,
			_ *wire.Member) {
			s.last[node] -= s.cfg.Timing.Patience + 1
		}, false, false},
		"without a connection for three times Dead": {func(s *Scheduler, m *wire.Member) {
			m.Alive, s.ends.closed[node] = false, s.awake.Time-3*s.cfg.Timing.Dead
		}, false, false},
		"without one for longer": {func(s *Scheduler, m *wire.Member) {
			m.Alive, s.ends.closed[node] = false, s.awake.Time-3*s.cfg.Timing.Dead-1
		}, false, true},
	} {
		s := testScheduler(t)
		tt.change(s, &s.view.Servers[1])
		if got := s.fresh(one); got != tt.fresh {
			t.Errorf("%s: there for certain: %v, want %v", name, got, tt.fresh)
		}
		if got := s.hopeless(one); got != tt.hopeless {
			t.Errorf("%s: hopeless: %v, want %v", name, got, tt.hopeless)
		}
	}
}

// TestNewCopiesGoToTheServerWithFewest makes a copy where the least work is.
func TestNewCopiesGoToTheServerWithFewest(t *testing.T) {
	s := testScheduler(t)
	r := func(i int) wire.Replica { return s.replica(i) }
	s.view.Shards = []wire.Shard{{Primary: r(0), Backup: r(1)}, {Primary: r(1), Backup: r(2)},
		{Primary: r(1)}}
	for primary, want := range map[int]int{0: 2, 1: 0, 2: 0} {
		if got, ok := s.candidate(r(primary)); !ok || got != r(want) {
			t.Errorf("beside a primary on server %d: %+v, want server %d", primary, got, want)
		}
	}
	s.view.Servers[0].Alive, s.view.Servers[2].Alive = false, false
	if got, ok := s.candidate(r(1)); ok {
		t.Errorf("a copy goes to %+v, which is not alive or has the other one", got)
	}
}

// TestAShardIsTakenBackBeforeAnybodyHearsOfIt gives up a copy in a view that is not told: it can
// still have the shard.
func TestAShardIsTakenBackBeforeAnybodyHearsOfIt(t *testing.T) {
	s := testScheduler(t)
	s.view.Shards = []wire.Shard{{Epoch: 1, Primary: s.replica(0), Backup: s.replica(1),
		InSync: true}}
	s.told = s.view.Clone()
	sh := &s.view.Shards[0]
	if s.takeBack(0, sh) {
		t.Fatal("a shard is taken back from the epoch that all know")
	}
	s.promote(0, sh)
	s.writing = s.view.Clone()
	s.writing.Number = 9
	s.view.Servers[1].Left = true
	if !s.takeBack(0, sh) || sh.Primary != s.replica(0) || sh.Epoch != 3 || s.hushed != 9 {
		t.Errorf("taken back: %+v, view %d is not told", sh, s.hushed)
	}
	s.view.Servers[0].Left = true
	if s.takeBack(0, sh) {
		t.Error("a shard is taken back by a server that has left")
	}
	s.told.Shards[0].InSync, s.view.Servers[1].Left = true, false
	if !s.takeBack(0, sh) || sh.Primary != s.replica(1) {
		t.Errorf("taken back: %+v, want the backup in sync", sh)
	}
	if s.takeBack(1, sh) {
		t.Error("a shard is taken back that nobody knows")
	}
}

// TestNobodyHearsOfAViewThatIsTakenBack makes a view durable in which a shard has fled to a server
// that has left since: the view after it, with the old copy, is told instead.
func TestNobodyHearsOfAViewThatIsTakenBack(t *testing.T) {
	d := newDrill(t, Config{Servers: 2, Workers: 1, Replicas: 2, Shards: 1, Term: 7})
	number, before := d.told.Number, d.told.Shards[0]
	sh := &d.view.Shards[0]
	d.promote(0, sh)
	d.conclude()
	d.say(srv(before.Backup.Server), wire.TypeBye, nil)
	if sh.Primary != before.Primary || d.writing == nil || d.hushed != number+1 {
		t.Fatalf("shard %+v, view %d is not told; want it back on %+v, and view %d not told", sh,
			d.hushed, before.Primary, number+1)
	}
	d.flush()
	d.Persisted(d.at, number+1)
	sends, _ := d.flush()
	for i := range sends {
		if sends[i].Msg.Type == wire.TypeView {
			t.Errorf("%s is told view %d", sends[i].To, sends[i].Msg.ViewNumber())
		}
	}
	if d.told.Number != number || d.writing == nil || d.writing.Number != number+2 {
		t.Fatalf("told view %d, to be written %+v; want %d and view %d", d.told.Number, d.writing,
			number, number+2)
	}
	d.Persisted(d.at, number+2)
	if sends, _ = d.flush(); len(sends) != 3 || d.told.Shards[0].Primary != before.Primary {
		t.Errorf("told %+v in %d messages, want the shard on %+v in one to each", d.told.Shards[0],
			len(sends), before.Primary)
	}
	if sends[0].Msg.Epoch != 7 || d.Term() != 7 {
		t.Errorf("term %d, in messages %d; want 7", d.Term(), sends[0].Msg.Epoch)
	}
}
