package node

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestWindow pushes and pops more things than the ring holds at first, with gaps.
func TestWindow(t *testing.T) {
	w := Window[uint64]{First: 5}
	next := uint64(5)
	push := func(n int) {
		for range n {
			v := next
			w.Push(&v)
			next++
		}
	}
	check := func() {
		t.Helper()
		if w.Len() != int(next-w.First) || w.Empty() != (w.Len() == 0) {
			t.Fatalf("%d things from %d to %d", w.Len(), w.First, next)
		}
		if w.At(w.First-1) != nil || w.At(next) != nil {
			t.Error("there is a thing outside of the queue")
		}
		for n := w.First; n < next; n++ {
			if x := w.At(n); x == nil || *x != n {
				t.Fatalf("thing %d is %v", n, x)
			}
		}
	}
	check()
	for _, n := range []int{1, 15, 1, 20, 40} {
		push(n)
		check()
		for range n / 2 {
			if first := w.First; *w.Pop() != first {
				t.Fatalf("thing %d is not the first", first)
			}
			check()
		}
	}
	w.Set(w.First+1, nil)
	if w.At(w.First+1) != nil || w.At(w.First) == nil || w.At(w.First+2) == nil {
		t.Error("a gap is in another place")
	}
	used := 0
	for _, x := range w.ring {
		if x != nil {
			used++
		}
	}
	if used != w.Len()-1 {
		t.Errorf("the ring keeps %d things, want %d", used, w.Len()-1)
	}
}

// TestWakefulness counts time in which a machine is driven.
func TestWakefulness(t *testing.T) {
	timing := ps.Timing{Heartbeat: 10, Suspect: 30}
	a := Wakefulness{}
	for i, tt := range []struct {
		now, awake ps.Time
		stood      bool
	}{{100, 0, false}, {109, 9, false}, {119, 19, false}, {130, 29, false}, {160, 39, false},
		{191, 49, true}, {191, 49, false}, {190, 49, false}, {195, 54, false}} {
		if stood := a.React(tt.now, &timing); stood != tt.stood || a.Time != tt.awake || !a.Began {
			t.Errorf("step %d: awake for %d, stood still %v, want %+v", i, a.Time, stood, tt)
		}
	}
}

func testMember() Member {
	timing := ps.Timing{}
	timing.Fill()
	m := NewMember(Identity{Self: wire.Node{Role: wire.Worker}, Job: 1, Nonce: 5, Size: 1,
		Addr: "here"}, timing)
	m.Wake(0)
	return m
}

// adopt hands a view with one worker to the member.
func adopt(m *Member, number uint64, change func(v *wire.View)) bool {
	v := &wire.View{Job: 1, Number: number, Workers: []wire.Member{{Node: m.Self, Incarnation: 3,
		Nonce: 5}}}
	if change != nil {
		change(v)
	}
	msg := wire.Message{Type: wire.TypeView, Payload: v.Append(nil)}
	msg.SetViewNumber(number)
	return m.Adopt(&msg)
}

// TestViewsAreChecked adopts views that are not the member's.
func TestViewsAreChecked(t *testing.T) {
	for name, change := range map[string]func(v *wire.View){
		"another job":    func(v *wire.View) { v.Job = 2 },
		"another number": func(v *wire.View) { v.Number++ },
		"more workers":   func(v *wire.View) { v.Workers = append(v.Workers, v.Workers[0]) },
		"no place":       func(v *wire.View) { v.Workers[0].Node.Rank = 4 },
	} {
		m := testMember()
		if adopt(&m, 1, change) || m.View != nil || m.Inc != 0 || len(m.Out.Events) != 1 ||
			m.Out.Events[0].Kind != ps.EventViewFailed {
			t.Errorf("%s: %+v, events %+v", name, m.View, m.Out.Events)
		}
	}
	m := testMember()
	other := func(v *wire.View) { v.Workers[0].Nonce = 6 }
	if !adopt(&m, 1, other) || m.Inc != 0 || m.Fenced {
		t.Error("a view in which another process has the place fences one that has none")
	}
	adopt(&m, 2, nil)
	m.Asked = false
	if adopt(&m, 2, nil) || m.Asked {
		t.Error("a view is adopted twice")
	}
	if !adopt(&m, 3, other) || !m.Fenced || m.Inc != 3 || !m.Asked {
		t.Error("a successor does not fence the process")
	}
}

// TestSignsOfLife ticks a member before and after it has a place.
func TestSignsOfLife(t *testing.T) {
	m := testMember()
	tick := func(now ps.Time, want wire.Type) {
		t.Helper()
		m.Wake(now)
		m.Tick(now, wire.Heartbeat{Clock: 8})
		n := len(m.Out.Sends)
		if want == 0 && n > 0 || want != 0 && (n != 1 || m.Out.Sends[0].Msg.Type != want) {
			t.Fatalf("at %d: %+v, want %s", now, m.Out.Sends, want)
		}
		if n == 1 && m.Out.Sends[0].To != Scheduler {
			t.Errorf("sent to %s", m.Out.Sends[0].To)
		}
	}
	beat, soon := m.Timing.Heartbeat, m.Timing.Resend/8
	tick(0, wire.TypeHello)
	h, err := wire.DecodeHello(m.Out.Sends[0].Msg.Payload)
	if want := (wire.Hello{Nonce: 5, Addr: "here"}); err != nil || h != want {
		t.Errorf("hello %+v, want %+v", h, want)
	}
	m.Out.Reset()
	tick(beat-1, 0)
	tick(beat, wire.TypeHello)
	m.Out.Reset()
	adopt(&m, 4, nil)
	m.Out.Reset()
	tick(beat+soon-1, 0) // it has spoken a moment ago
	tick(beat+soon, wire.TypeHeartbeat)
	if msg := &m.Out.Sends[0].Msg; msg.ViewNumber() != 4 || msg.Incarnation != 3 {
		t.Errorf("heartbeat %+v, want view 4 of incarnation 3", msg)
	}
	m.Out.Reset()
	if m.Asked {
		t.Error("a view is still to be asked for")
	}
	tick(2*beat+soon-1, 0)
	tick(2*beat+soon, wire.TypeHeartbeat)
	m.Out.Reset()
	m.Leave()
	tick(2*beat+soon+1, wire.TypeBye)
	m.Out.Reset()
	tick(3*beat+soon, 0)
	tick(3*beat+soon+1, wire.TypeBye)
	m.Out.Reset()
	if m.Gone() {
		t.Error("it is gone before the scheduler knows")
	}
	adopt(&m, 5, func(v *wire.View) { v.Workers[0].Left = true })
	m.Out.Reset()
	if tick(9*beat, 0); !m.Gone() {
		t.Error("it is not gone though the scheduler knows")
	}
}

// TestTheSchedulerIsHeard lets the scheduler be silent for Patience and a moment longer.
func TestTheSchedulerIsHeard(t *testing.T) {
	m := testMember()
	adopt(&m, 4, nil)
	wait := func(dt ps.Time) {
		m.awake.Time += dt
		m.Tick(0, wire.Heartbeat{})
	}
	if wait(m.Timing.Patience); m.Alone {
		t.Error("alone after Patience")
	}
	if wait(1); !m.Alone || !errors.Is(m.Silent(), ps.ErrNoScheduler) {
		t.Error("not alone behind Patience")
	}
	for _, tt := range []struct {
		kind   wire.Type
		number uint64
		alone  bool
	}{{wire.TypeView, 3, true}, {wire.TypeHeartbeat, 3, true}, {wire.TypeView, 4, false},
		{wire.TypeHeartbeat, 4, false}, {wire.TypeBarrierDone, 3, false}} {
		m.Alone = true
		msg := wire.Message{Type: tt.kind}
		msg.SetViewNumber(tt.number)
		if m.Hear(&msg); m.Alone != tt.alone {
			t.Errorf("%+v: alone %v", tt, m.Alone)
		}
	}
}

// TestWhoseMessagesCount looks at messages of others, and words that the place is taken.
func TestWhoseMessagesCount(t *testing.T) {
	m := testMember()
	adopt(&m, 1, nil)
	for _, tt := range []struct {
		job    uint64
		from   wire.Node
		target uint32
		want   bool
	}{{1, Scheduler, 0, true}, {1, Scheduler, 3, true}, {1, Scheduler, 2, false},
		{2, Scheduler, 0, false}, {1, m.Self, 0, false}} {
		msg := wire.Message{Job: tt.job, From: tt.from, Target: tt.target}
		if got := m.Ours(Scheduler, &msg); got != tt.want {
			t.Errorf("%+v: ours %v", tt, got)
		}
	}
	for _, tt := range []struct {
		inc, target uint32
		kind        wire.Type
		why         wire.Reason
		nonce       uint64
		want        bool
	}{
		{0, 0, wire.TypeReject, wire.ReasonIncarnation, 5, true},
		{0, 0, wire.TypeReject, wire.ReasonIncarnation, 6, false},
		{3, 3, wire.TypeReject, wire.ReasonIncarnation, 0, true},
		{3, 0, wire.TypeReject, wire.ReasonIncarnation, 5, false},
		{3, 3, wire.TypeReject, wire.ReasonEpoch, 0, false},
		{3, 3, wire.TypeView, wire.ReasonIncarnation, 0, false},
	} {
		m := testMember()
		m.Inc = tt.inc
		msg := wire.Message{Type: tt.kind, Target: tt.target}
		msg.SetRefusal(wire.Refusal{Reason: tt.why, Seq: tt.nonce})
		if got := m.Evicted(&msg); got != tt.want || m.Fenced != tt.want ||
			len(m.Out.Events) == 1 != tt.want {
			t.Errorf("%+v: evicted %v, events %+v", tt, got, m.Out.Events)
		}
	}
}
