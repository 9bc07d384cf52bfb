package sched

import (
	"errors"
	"slices"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestWhoIsSentAway shrinks a list of processes to two places.
func TestWhoIsSentAway(t *testing.T) {
	list := []wire.Member{{}, {Leaves: true}, {}, {Left: true}, {Leaves: true}}
	sendAway(list, 2)
	for i, want := range []bool{false, false, true, false, true} {
		if list[i].Leaves != want {
			t.Errorf("process %d is to leave: %v, want %v", i, list[i].Leaves, want)
		}
	}
}

// elasticDrill returns a job of two workers, and a third one that waits.
func elasticDrill(t *testing.T, change func(d *drill)) *drill {
	t.Helper()
	d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
	d.join(wkr(2), 50)
	d.write()
	change(d)
	d.flush()
	return d
}

// regroupCall lets a worker call for a change of the present group.
func (d *drill) regroupCall(rank uint16, leaves bool, note []byte) {
	d.say(wkr(rank), wire.TypeRegroup, func(m *wire.Message) {
		wire.GroupCall{Number: d.view.Group.Number, Round: 8, Leaves: leaves}.Set(m)
		m.Payload = note
	})
}

// TestADeadWorkerThatWasToLeave is let go only when another one stays in the group.
func TestADeadWorkerThatWasToLeave(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(me, other *wire.Member)
		want   bool
	}{
		"another one stays":     {func(_, _ *wire.Member) {}, true},
		"the other one waits":   {func(_, o *wire.Member) { o.Waits = true }, false},
		"the other one leaves":  {func(_, o *wire.Member) { o.Leaves = true }, false},
		"the other one is gone": {func(_, o *wire.Member) { o.Left = true }, false},
		"it is not to leave":    {func(me, _ *wire.Member) { me.Leaves = false }, false},
		"it lives":              {func(me, _ *wire.Member) { me.Alive = true }, false},
		"nobody had the place":  {func(me, _ *wire.Member) { me.Incarnation = 0 }, false},
	} {
		d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
		me := &d.view.Workers[1]
		me.Alive, me.Leaves = false, true
		tt.change(me, &d.view.Workers[0])
		d.changeGroup()
		if me.Left != tt.want {
			t.Errorf("%s: left %v, want %v", name, me.Left, tt.want)
		}
	}
}

// TestASuccessorThatIsNotWanted takes the places of processes that were to leave when they died, and
// of those that are wanted.
func TestASuccessorThatIsNotWanted(t *testing.T) {
	d := newDrill(t, Config{Servers: 2, Workers: 2, Replicas: 1})
	d.join(wkr(1), 60)
	if d.view.Workers[1].Leaves {
		t.Error("a successor is to leave a job whose size nobody has changed")
	}
	if err := d.scale(1, 1); err != nil {
		t.Fatal(err)
	}
	d.view.Workers[1].Alive = false
	d.changeGroup()
	if !d.view.Workers[1].Left {
		t.Error("a worker that was to leave and has died has not left")
	}
	for i, n := range []wire.Node{wkr(0), wkr(1), srv(0), srv(1)} {
		d.join(n, uint64(70+i))
		if m := d.view.Member(n); m.Leaves != (n.Rank > 0) {
			t.Errorf("%s is to leave: %v", n, m.Leaves)
		}
	}
}

// TestSomebodyStaysInTheGroup lets all workers of a group leave while another one waits, or has
// died waiting.
func TestSomebodyStaysInTheGroup(t *testing.T) {
	for name, tt := range map[string]struct {
		waits bool
		want  []uint16
	}{"one waits": {true, []uint16{2}}, "it has died": {false, []uint16{0}}} {
		d := elasticDrill(t, func(d *drill) { d.view.Workers[2].Alive = tt.waits })
		d.regroupCall(1, true, nil)
		d.regroupCall(0, true, nil)
		if got := d.view.Group; !slices.Equal(got.Ranks, tt.want) || got.Number != 1 ||
			got.Round != 8 {
			t.Errorf("%s: group %+v, want workers %v from round 8", name, got, tt.want)
		}
		if d.view.Workers[2].Waits == tt.waits {
			t.Errorf("%s: it is let in: %v", name, !d.view.Workers[2].Waits)
		}
	}
}

// TestCallsThatDoNotCount makes calls for a change of the group that are dropped.
func TestCallsThatDoNotCount(t *testing.T) {
	d := elasticDrill(t, func(*drill) {})
	d.regroupCall(0, false, make([]byte, ps.MaxNote+1))
	d.regroupCall(2, false, nil)
	d.regroupCall(2, false, nil)
	d.silent("a long note, and calls of a worker that waits")
	if len(d.calls) != 0 {
		t.Errorf("calls %+v, want none", d.calls)
	}
	d.regroupCall(0, false, make([]byte, ps.MaxNote))
	d.regroupCall(1, false, nil)
	if got := d.view.Group; !slices.Equal(got.Ranks, []uint16{0, 1, 2}) || len(got.Note) != ps.MaxNote {
		t.Errorf("group %d of %v with a note of %d bytes, want all with the longest note",
			got.Number, got.Ranks, len(got.Note))
	}
}

// TestWorkersWithoutRoundsLetOthersIn asks whether a worker may come in at once.
func TestWorkersWithoutRoundsLetOthersIn(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(d *drill)
		want   bool
	}{
		"all use no rounds":  {func(*drill) {}, true},
		"one uses rounds":    {func(d *drill) { delete(d.beats, wkr(1)) }, false},
		"one is dead":        {func(d *drill) { d.view.Workers[1].Alive = false }, false},
		"one has left":       {func(d *drill) { d.view.Workers[1].Left = true }, true},
		"nobody waits":       {func(d *drill) { d.view.Workers[2].Waits = false }, false},
		"who waits has died": {func(d *drill) { d.view.Workers[2].Alive = false }, false},
		"nobody is in the group": {func(d *drill) {
			d.view.Workers[0].Left, d.view.Workers[1].Left = true, true
		}, false},
	} {
		d := elasticDrill(t, func(d *drill) {
			for r := range uint16(3) {
				d.beats[wkr(r)] = wire.Heartbeat{Loose: true}
			}
			tt.change(d)
		})
		if got := d.loose(); got != tt.want {
			t.Errorf("%s: it may come in: %v, want %v", name, got, tt.want)
		}
	}
}

// TestOnlyProcessesThatAreThereLeave asks processes to leave that are not there.
func TestOnlyProcessesThatAreThereLeave(t *testing.T) {
	s, err := New(Config{Job: 1, Servers: 1, Workers: 1, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Drain(100*ps.Second, wkr(0)); !errors.Is(err, ps.ErrUsage) {
		t.Errorf("a place without a process: %v", err)
	}
	d := newDrill(t, Config{Servers: 1, Workers: 2, Replicas: 1})
	me := &d.view.Workers[1]
	for _, left := range []bool{true, false} {
		me.Left = left
		d.say(wkr(1), wire.TypeHeartbeat, func(m *wire.Message) {
			h := wire.Heartbeat{Leaves: true}
			m.Payload = h.Append(nil)
		})
		if me.Leaves == left {
			t.Errorf("a worker that has left: %v; it is to leave: %v", left, me.Leaves)
		}
	}
}

// TestCopiesOfServersThatLeave moves the backup first where both copies are to leave, and gives new
// copies to servers that stay.
func TestCopiesOfServersThatLeave(t *testing.T) {
	d := newDrill(t, Config{Servers: 3, Workers: 1, Replicas: 2, Shards: 3})
	d.view.Servers[0].Leaves, d.view.Servers[1].Leaves = true, true
	d.retire()
	if sh := d.view.Shards[0]; sh.Swapped || sh.Third != d.replica(2) {
		t.Errorf("shard 0 of two servers that leave: %+v, want a third copy on server 2", sh)
	}
	s := testScheduler(t)
	s.view.Shards = []wire.Shard{{Primary: s.replica(1), Backup: s.replica(2)},
		{Primary: s.replica(1)}}
	for leaves, want := range map[bool]int{false: 0, true: 2} {
		s.view.Servers[0].Leaves = leaves
		if got, ok := s.candidate(s.replica(1)); !ok || got != s.replica(want) {
			t.Errorf("server 0 is to leave: %v; the copy goes to %+v, want server %d", leaves, got,
				want)
		}
	}
}
