package worker

import (
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// TestAWorkerWithoutServers joins a job whose workers keep their values themselves, tells how far it
// is, and changes the group.
func TestAWorkerWithoutServers(t *testing.T) {
	d := newDrill(t, Config{NoServers: true}, 0)
	if _, err := d.Join(d.at, 0); err != nil {
		t.Fatal(err)
	}
	if e := d.done(1)[0]; e.Err != nil || !d.joined {
		t.Fatalf("joined %v, %v", d.joined, e.Err)
	}
	if list := d.sent(); len(list) > 0 {
		t.Errorf("messages %v, want none: there is nobody to ask", list)
	}
	beat := func() wire.Heartbeat {
		t.Helper()
		h, err := wire.DecodeHeartbeat(d.one(wire.TypeHeartbeat).Payload)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	d.Tick(d.at)
	if h := beat(); h.Clock != 0 || h.Start != 0 || h.Waiting != -1 {
		t.Errorf("heartbeat %+v before the first step", h)
	}
	// The first step behind the steps of earlier processes is told soon, later ones when it is time.
	d.Progress(4, 4, wire.Node{})
	d.Tick(d.at)
	if list := d.sent(); len(list) > 0 || d.Resumed() != 4 {
		t.Errorf("messages %v before the next step, resumed %d, want 4", list, d.Resumed())
	}
	d.Progress(4, 5, wire.Node{Role: wire.Worker, Rank: 1})
	d.at += d.me.Timing.Resend / 8
	d.Tick(d.at)
	if h := beat(); h.Clock != 5 || h.Start != 4 || h.Waiting != 1 {
		t.Errorf("heartbeat %+v, want step 5 from 4 on, which waits for worker 1", h)
	}
	d.Progress(4, 6, wire.Node{})
	d.at += d.me.Timing.Resend / 8
	d.Tick(d.at)
	if list := d.sent(); len(list) > 0 {
		t.Errorf("messages %v of a later step, want none before it is time", list)
	}
	d.at += d.me.Timing.Heartbeat
	d.Tick(d.at)
	if h := beat(); h.Clock != 6 || h.Waiting != -1 {
		t.Errorf("heartbeat %+v, want step 6", h)
	}
	d.v.Group.Ranks = []uint16{0, 1}
	d.tell()
	note := []byte("note")
	if _, err := d.Regroup(d.at, 6, note, 0); err != nil {
		t.Fatal(err)
	}
	m := d.one(wire.TypeRegroup)
	want := wire.GroupCall{Number: 0, Round: 6}
	if c := wire.GroupCallOf(m); c != want || string(m.Payload) != "note" {
		t.Errorf("call %+v with note %q, want %+v", c, m.Payload, want)
	}
	// The note is the caller's again.
	copy(note, "****")
	d.at += d.me.Timing.Resend
	d.Tick(d.at)
	for _, m := range d.sent() {
		if m.Type == wire.TypeRegroup && string(m.Payload) != "note" {
			t.Errorf("the note of the repeated call is %q", m.Payload)
		}
	}
	d.v.Workers[0].Left, d.v.Workers[0].Alive = true, false
	d.v.Group = wire.Group{Number: 1, Ranks: []uint16{1}}
	d.tell()
	if e := d.done(1)[0]; e.Err != nil {
		t.Errorf("the call ends with %v", e.Err)
	}
	if s := d.Standing(); s.Member || s.Leaves || s.Changes {
		t.Errorf("standing %+v of a worker that has left", s)
	}
	d.Leave()
	if !d.Gone() {
		t.Error("it is not gone, and the view says that it has left")
	}
	if _, err := d.Regroup(d.at, 6, nil, 0); !errors.Is(err, ps.ErrClosed) {
		t.Errorf("a call behind the end: %v, want %v", err, ps.ErrClosed)
	}
}
