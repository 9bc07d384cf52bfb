package sched

import (
	"testing"

	"gomx/kvstore/wire"
)

// TestBarriersOfAJobThatContinues counts barriers of a worker whose job continues from a snapshot
// at step 5: the steps before count as none, for it and for its successor.
func TestBarriersOfAJobThatContinues(t *testing.T) {
	s, err := New(Config{Job: 1, Servers: 1, Workers: 1, Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	me := &s.view.Workers[0]
	me.Incarnation, me.Alive = 1, true
	call := func(c wire.BarrierCall) {
		m := s.message(wire.TypeBarrier)
		m.SetBarrierCall(c)
		s.barrier(me, &m)
		s.passBarriers()
	}
	for _, c := range []struct {
		call wire.BarrierCall
		want wire.Calls
	}{
		{wire.BarrierCall{Number: 1, Begun: 5, Before: 5}, wire.Calls{Done: 1, Begin: 5, First: 1}},
		{wire.BarrierCall{Number: 2, Begun: 6, Before: 5}, wire.Calls{Done: 2, Begin: 5, First: 1,
			Step: 6, Here: 1}},
		{wire.BarrierCall{Number: 3, Begun: 6, Before: 5}, wire.Calls{Done: 3, Begin: 5, First: 1,
			Step: 6, Here: 2}},
		// makes no sense
		{wire.BarrierCall{Number: 9, Begun: 6, Before: 5}, wire.Calls{Done: 3, Begin: 5, First: 1,
			Step: 6, Here: 2}},
		{wire.BarrierCall{Number: 4, Begun: 7, Before: 5}, wire.Calls{Done: 4, Begin: 5, First: 1,
			Step: 7, Here: 1}},
	} {
		call(c.call)
		if me.Calls != c.want {
			t.Fatalf("after %+v: %+v, want %+v", c.call, me.Calls, c.want)
		}
	}
	for steps, want := range map[uint64]uint64{5: 1, 6: 1, 7: 2} {
		if got := repeated(&me.Calls, steps); got != want {
			t.Errorf("a successor behind step %d repeats %d calls, want %d", steps, got, want)
		}
	}
	// The successor begins behind step 7: its first two calls end at once, the third is new.
	me.Incarnation, me.Calls.Done = 2, 0
	for n := range uint64(3) {
		call(wire.BarrierCall{Number: n + 1, Begun: 7, Before: 7})
	}
	if want := (wire.Calls{Done: 3, Begin: 5, First: 1, Step: 7, Here: 2}); me.Calls != want ||
		s.view.Barrier != 5 {
		t.Errorf("after its calls: %+v and %d barriers, want %+v and 5", me.Calls, s.view.Barrier,
			want)
	}
}
