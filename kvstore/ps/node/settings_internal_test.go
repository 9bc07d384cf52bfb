package node

import (
	"bytes"
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestFillLimits fills in limits that are missing, and leaves others as they are.
func TestFillLimits(t *testing.T) {
	for _, tt := range []struct{ in, want [3]int }{
		{[3]int{0, 0, 0}, [3]int{1024, 2, 4 << 20}},
		{[3]int{-1, -1, -1}, [3]int{1024, 2, 4 << 20}},
		{[3]int{1, 1, 1}, [3]int{64, 1, 1}},
		{[3]int{64, 3, 5}, [3]int{64, 3, 5}},
		{[3]int{65, 3, 5}, [3]int{128, 3, 5}},
		{[3]int{127, 3, 5}, [3]int{128, 3, 5}},
	} {
		got := tt.in
		if FillLimits(&got[0], &got[1], &got[2]); got != tt.want {
			t.Errorf("limits %v become %v, want %v", tt.in, got, tt.want)
		}
	}
}

// TestViewsThatDoNotFit hands views to a member that are none of its own.
func TestViewsThatDoNotFit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rank   uint16
		change func(v *wire.View)
		cut    int // bytes that are missing
		want   string
	}{
		{"another job", 0, func(v *wire.View) { v.Job = 2 }, 0,
			"view 7 of job 0x2 with 1 workers, want view 7 of job 0x1 with at least 1"},
		{"another number", 0, func(v *wire.View) { v.Number = 8 }, 0,
			"view 8 of job 0x1 with 1 workers, want view 7 of job 0x1 with at least 1"},
		{"too few", 0, func(v *wire.View) { v.Workers = nil }, 0,
			"view 7 of job 0x1 with 0 workers, want view 7 of job 0x1 with at least 1"},
		{"no place", 3, nil, 0, "view 7 has no place for worker 3"},
		{"a byte short", 0, nil, 1, "wire: malformed body: view ends early"},
	} {
		m := testMember()
		m.Self.Rank = tt.rank
		v := &wire.View{Job: 1, Number: 7, Workers: []wire.Member{{
			Node: wire.Node{Role: wire.Worker}, Incarnation: 3, Nonce: 5}}}
		if tt.change != nil {
			tt.change(v)
		}
		b := v.Append(nil)
		msg := wire.Message{Type: wire.TypeView, Payload: b[:len(b)-tt.cut]}
		msg.SetViewNumber(7)
		if m.Adopt(&msg) || m.View != nil || m.Inc != 0 || m.Asked {
			t.Errorf("%s: the view is adopted", tt.name)
		}
		want := ps.Event{Kind: ps.EventViewFailed, Node: Scheduler, Text: tt.want}
		if e := m.Out.Events; len(e) != 1 || e[0] != want {
			t.Errorf("%s: events %+v, want %+v", tt.name, e, want)
		}
	}
}

// TestAMemberIsReplaced adopts a view that names another process.
func TestAMemberIsReplaced(t *testing.T) {
	m := testMember()
	other := func(v *wire.View) { v.Workers[0].Nonce, v.Workers[0].Incarnation = 6, 4 }
	if !adopt(&m, 1, other) || m.Fenced || m.Inc != 0 || len(m.Out.Events) != 0 {
		t.Errorf("a process without a place: fenced %v, events %+v", m.Fenced, m.Out.Events)
	}
	adopt(&m, 2, nil)
	joined := ps.Event{Kind: ps.EventJoined, Node: m.Self}
	if m.Inc != 3 || len(m.Out.Events) != 1 || m.Out.Events[0] != joined {
		t.Errorf("incarnation %d, events %+v", m.Inc, m.Out.Events)
	}
	adopt(&m, 3, other)
	fenced := ps.Event{Kind: ps.EventFenced, Node: m.Self}
	if !m.Fenced || m.Inc != 3 || len(m.Out.Events) != 2 || m.Out.Events[1] != fenced ||
		!m.Gone() ==
			m.Left {
		t.Errorf("fenced %v, incarnation %d, events %+v", m.Fenced, m.Inc, m.Out.Events)
	}
	m = testMember()
	msg := wire.Message{Type: wire.TypeReject}
	msg.SetRefusal(wire.Refusal{Reason: wire.ReasonIncarnation, Seq: 5})
	if !m.Evicted(&msg) || m.Out.Events[0] != fenced {
		t.Errorf("events %+v", m.Out.Events)
	}
}

// TestHellosAndHeartbeats looks at the contents of messages for the scheduler.
func TestHellosAndHeartbeats(t *testing.T) {
	m := testMember()
	m.Self.Rank = 2
	m.Tick(0, wire.Heartbeat{})
	hello := wire.Hello{Nonce: 5, Rank: 2, Addr: "here"}
	s := m.Out.Sends[0]
	if s.To != Scheduler || s.Msg.Job != 1 || s.Msg.From != m.Self || s.Hold != nil ||
		!bytes.Equal(s.Msg.Payload, hello.Append(nil)) {
		t.Errorf("hello %+v", s)
	}
	m.Self.Rank = 0
	adopt(&m, 4, nil)
	m.Out.Reset()
	beat := wire.Heartbeat{Clock: 7, Queue: 8, Parked: 9, Waiting: -1, Start: 3}
	m.Tick(m.Timing.Resend, beat)
	s = m.Out.Sends[0]
	if s.Msg.Type != wire.TypeHeartbeat || s.Msg.ViewNumber() != 4 || s.Msg.Incarnation != 3 ||
		!bytes.Equal(s.Msg.Payload, beat.Append(nil)) {
		t.Errorf("heartbeat %+v", s)
	}
	m.Tick(2*m.Timing.Resend, wire.Heartbeat{})
	if len(m.Out.Sends) != 1 {
		t.Errorf("%d messages before it is time", len(m.Out.Sends))
	}
}

// TestTheSchedulerIsSilentSince counts silence from the last word, and not from the beginning.
func TestTheSchedulerIsSilentSince(t *testing.T) {
	m := testMember()
	now := ps.Time(0)
	wait := func(dt ps.Time) {
		for end := now + dt; now < end; {
			now = min(now+m.Timing.Heartbeat, end)
			m.Wake(now)
			m.Tick(now, wire.Heartbeat{})
		}
	}
	wait(60 * ps.Second)
	m.Hear(&wire.Message{Type: wire.TypeBarrierDone})
	if wait(m.Timing.Patience); m.Alone {
		t.Error("alone after Patience")
	}
	if wait(ps.Second); !m.Alone || m.Silent().Error() !=
		"the scheduler is gone: it has said nothing for 101 s" {
		t.Errorf("alone %v: %v", m.Alone, m.Silent())
	}
	// A process that stood still waits for one more Dead before it takes silence for an end.
	if stood := m.Wake(now + m.Timing.Suspect + 1); !stood {
		t.Error("it has not stood still")
	}
	m.Alone = false
	now += m.Timing.Suspect + 1
	if wait(m.Timing.Dead); m.Alone {
		t.Error("alone within Dead after it stood still")
	}
	if wait(1); !m.Alone {
		t.Error("not alone behind Dead")
	}
}

// TestUnpack hands on the items of a batch, and other messages as they are.
func TestUnpack(t *testing.T) {
	m := testMember()
	var got []uint64
	m.Dispatch = func(x *wire.Message) { got = append(got, x.Seq) }
	single := wire.Message{Type: wire.TypeAck, Seq: 1}
	if err := m.Unpack(&single); err != nil {
		t.Error(err)
	}
	batch := wire.Message{Type: wire.TypeBatch, From: m.Self}
	for seq := range uint64(3) {
		batch.Payload = wire.AppendItem(batch.Payload, &wire.Message{Type: wire.TypeAck,
			From: m.Self, Seq: 2 + seq, Payload: []byte("abc")})
	}
	if err := m.Unpack(&batch); err != nil {
		t.Error(err)
	}
	if len(got) != 4 || got[0] != 1 || got[3] != 4 || m.item.Payload != nil || m.item.Seq != 0 {
		t.Errorf("messages %v, item %+v", got, m.item)
	}
	batch.Payload = batch.Payload[:len(batch.Payload)-1]
	if err := m.Unpack(&batch); !errors.Is(err, wire.ErrMessage) && !errors.Is(err, wire.ErrBody) &&
		!errors.Is(err, wire.ErrPayload) && !errors.Is(err, wire.ErrHeader) {
		t.Errorf("a damaged batch: got %v", err)
	}
	if len(got) != 6 {
		t.Errorf("messages %v, want the first two of the damaged batch as well", got)
	}
}

// TestGone asks whether a process has left in all states.
func TestGone(t *testing.T) {
	for _, tt := range []struct {
		name         string
		left, fenced bool
		inc          uint32
		known        bool // the view says that it has left
		want         bool
	}{
		{"it stays", false, false, 3, true, false},
		{"before it had a place", true, false, 0, false, true},
		{"the scheduler has not heard", true, false, 3, false, false},
		{"the scheduler has heard", true, false, 3, true, true},
		{"it was replaced", true, true, 3, false, true},
	} {
		m := testMember()
		adopt(&m, 1, func(v *wire.View) { v.Workers[0].Left = tt.known })
		m.Left, m.Fenced, m.Inc = tt.left, tt.fenced, tt.inc
		if got := m.Gone(); got != tt.want {
			t.Errorf("%s: gone %v", tt.name, got)
		}
	}
}
