package ps

import (
	"errors"
	"testing"

	"gomx/kvstore/wire"
)

// TestErrorsNameTheNode writes errors with all that they may know.
func TestErrorsNameTheNode(t *testing.T) {
	srv, wkr := wire.Node{Role: wire.Server, Rank: 2}, wire.Node{Role: wire.Worker}
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Op: "push", Key: 3, Err: ErrTimeout}, "kvstore: push of key 3: deadline passed"},
		{Error{Op: "join", Key: NoKey, Peer: srv, Err: ErrTimeout},
			"kvstore: join at server 2: deadline passed"},
		{Error{Op: "pull", Key: 0, Peer: srv, Waits: wkr, Err: ErrTimeout},
			"kvstore: pull of key 0 at server 2, which waits for worker 0: deadline passed"},
		{Error{Op: "pull", Key: 0, Waits: wkr, Err: ErrTimeout},
			"kvstore: pull of key 0: deadline passed"},
	} {
		if got := tt.err.Error(); got != tt.want || !errors.Is(&tt.err, ErrTimeout) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if err := LostError(&wire.View{Shards: make([]wire.Shard, 2)}); err != nil {
		t.Errorf("no shard is lost: %v", err)
	}
	v := &wire.View{Shards: []wire.Shard{{Lost: true}, {}, {Lost: true}, {Lost: true}}}
	if err := LostError(v); !errors.Is(err, ErrLost) || err.Error() != "all copies of shards are "+
		"lost: 3 of 4, numbers 0, 2, 3: the job can only go on from a snapshot" {
		t.Errorf("got %v", err)
	}
}

// TestTimingHasDefaults fills in intervals that are missing.
func TestTimingHasDefaults(t *testing.T) {
	var got Timing
	got.Fill()
	want := Timing{Heartbeat: 500 * Millisecond, Suspect: 1500 * Millisecond, Dead: 3 * Second,
		Patience: 100 * Second, Resend: 300 * Millisecond, Park: 3 * Second,
		AckDelay: 20 * Millisecond}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = Timing{1, 1, 1, 1, 1, 1, 1}
	if got.Fill(); got != (Timing{1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("intervals that are given become %+v", got)
	}
	got = Timing{Dead: 8 * Second, Heartbeat: -1}
	if got.Fill(); got.Suspect != 4*Second || got.Heartbeat != 500*Millisecond {
		t.Errorf("got %+v, want half of Dead as Suspect", got)
	}
	if Second != 1000*Millisecond || Millisecond != 1e6 {
		t.Errorf("a second has %d ns, a millisecond %d", Second, Millisecond)
	}
}

// TestOutboxesAreEmptied fills every field of an outbox, one at a time.
func TestOutboxesAreEmptied(t *testing.T) {
	for name, fill := range map[string]func(o *Outbox){
		"view":     func(o *Outbox) { o.View = &wire.View{} },
		"manifest": func(o *Outbox) { o.Manifest = &wire.Manifest{} },
		"discard":  func(o *Outbox) { o.Discard = []Part{{}} },
		"sends":    func(o *Outbox) { o.Sends = []Send{{Msg: small(1, 8)}} },
		"recall":   func(o *Outbox) { o.TakeBack([]uint16{3}) },
		"saves":    func(o *Outbox) { o.Saves = []Save{{Data: []byte{1}}} },
		"done":     func(o *Outbox) { o.Done = []Done{{ID: 1}} },
		"events":   func(o *Outbox) { o.Report(EventDead, wire.Node{}, 0, 0, "") },
		"fatal":    func(o *Outbox) { o.Fatal = ErrLost },
	} {
		var o Outbox
		if !o.Empty() {
			t.Error("a new outbox is not empty")
		}
		if fill(&o); o.Empty() {
			t.Errorf("an outbox with %s is empty", name)
		}
		sends, saves, done, events := o.Sends, o.Saves, o.Done, o.Events
		if o.Reset(); !o.Empty() {
			t.Errorf("an outbox with %s is not empty after Reset", name)
		}
		if len(sends) > 0 && sends[0].Msg.Payload != nil || len(saves) > 0 && saves[0].Data != nil ||
			len(done) > 0 && done[0].ID != 0 || len(events) > 0 && events[0].Kind != 0 {
			t.Errorf("Reset keeps memory of %s", name)
		}
	}
	var o Outbox
	o.TakeBack([]uint16{1, 2})
	o.TakeBack([]uint16{2, 1, 3})
	if len(o.Recall) != 3 || o.Recall[2] != (wire.Node{Role: wire.Server, Rank: 3}) {
		t.Errorf("nodes %v, want servers 1, 2 and 3", o.Recall)
	}
	o.Report(EventLost, o.Recall[0], 2, 5, "text")
	if o.Events[0] != (Event{EventLost, o.Recall[0], 2, 5, "text"}) {
		t.Errorf("event %+v", o.Events[0])
	}
}

// lender counts references that come back.
type lender struct{ back int }

func (l *lender) Returned() { l.back++ }

// TestPackGivesMemoryBack packs messages whose payloads are lent.
func TestPackGivesMemoryBack(t *testing.T) {
	var out Outbox
	var l lender
	loan := &Loan{Lender: &l}
	(*Loan)(nil).Return()
	to := wire.Node{Role: wire.Worker}
	send := func(n int, change func(m *wire.Message)) {
		m := small(uint64(len(out.Sends)), n)
		m.Job, m.Incarnation, m.Target = 3, 4, 5
		if change != nil {
			change(&m)
		}
		out.Sends = append(out.Sends, Send{To: to, Msg: m, Hold: loan})
	}
	send(8, nil)
	if out.Pack(); l.back != 0 || len(out.Sends) != 1 || out.Sends[0].Hold != loan {
		t.Fatalf("one message: %d references are back, sends %+v", l.back, out.Sends)
	}
	// Messages that have been packed before stay as they are.
	send(8, nil)
	send(8, nil)
	send(8, nil)
	if out.Pack(); l.back != 3 || len(out.Sends) != 2 || out.Sends[0].Hold != loan ||
		out.Sends[1].Hold != nil {
		t.Fatalf("3 more: %d references are back, %d messages", l.back, len(out.Sends))
	}
	m := &out.Sends[1].Msg
	if m.Type != wire.TypeBatch || m.Job != 3 || m.From != (wire.Node{Role: wire.Server}) ||
		m.Incarnation != 4 || m.Target != 5 {
		t.Errorf("batch %+v", m)
	}
	if out.Pack(); len(out.Sends) != 2 || out.fuse.final != 2 {
		t.Errorf("%d messages after nothing was added, %d are final", len(out.Sends), out.fuse.final)
	}
	out.Reset()
	if out.fuse.final != 0 {
		t.Errorf("%d messages of an empty outbox are final", out.fuse.final)
	}
	send(8, nil)
	send(8, nil)
	if out.Pack(); len(out.Sends) != 1 || out.Sends[0].Msg.Type != wire.TypeBatch {
		t.Errorf("two messages are not packed: %+v", out.Sends)
	}
	out.Reset()
	send(8, func(m *wire.Message) { m.Flags = wire.FlagPayloadCRC })
	send(8, func(m *wire.Message) { m.Flags = wire.FlagPayloadCRC })
	if out.Pack(); len(out.Sends) != 2 || out.Sends[0].Msg.Type == wire.TypeBatch {
		t.Errorf("messages with checksums are packed: %+v", out.Sends)
	}
}

// TestBatchesEnd packs so many messages that a batch ends, and packs again in the same memory.
func TestBatchesEnd(t *testing.T) {
	var out Outbox
	to := wire.Node{Role: wire.Worker}
	for range 3 {
		item := len(wire.AppendItem(nil, &wire.Message{Type: wire.TypeAck,
			From: wire.Node{Role: wire.Server}, Payload: make([]byte, fuseItem)}))
		n := fuseBatch/item + 1 // messages until a body is longer than fuseBatch
		for seq := range uint64(n + 2) {
			out.Sends = append(out.Sends, Send{To: to, Msg: small(seq, fuseItem)})
		}
		out.Pack()
		if len(out.Sends) != 2 || len(out.Sends[0].Msg.Payload) != n*item ||
			len(out.Sends[1].Msg.Payload) != 2*item {
			t.Fatalf("%d messages of %d bytes, want batches of %d and 2", len(out.Sends),
				len(out.Sends[0].Msg.Payload), n)
		}
		seq := uint64(0)
		for i := range out.Sends {
			items := out.Sends[i].Msg.Items()
			for m := (wire.Message{}); ; seq++ {
				ok, err := items.Next(&m)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				if m.Seq != seq || len(m.Payload) != fuseItem {
					t.Fatalf("message %d of %d bytes, want %d", m.Seq, len(m.Payload), seq)
				}
			}
		}
		if cap(out.fuse.slots[0].base) < n*item || len(out.fuse.spare) != 0 {
			t.Errorf("memory of %d bytes is kept", cap(out.fuse.slots[0].base))
		}
		for _, s := range out.fuse.spare[:cap(out.fuse.spare)] {
			if s.Msg.Payload != nil {
				t.Fatal("spare memory keeps a payload")
			}
		}
		out.Reset()
		if s := &out.fuse.slots[0]; len(s.body) != 0 || cap(s.body) != cap(s.base) {
			t.Errorf("a body of %d bytes begins with memory of %d", len(s.body), cap(s.body))
		}
	}
}
