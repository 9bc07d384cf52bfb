package worker

import (
	"bytes"
	"errors"
	"testing"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// TestSettingsThatMakeNoSense makes workers of configurations at their limits and beyond.
func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		ok   bool
	}{
		{"the only worker", Config{Nonce: 1, Workers: 1}, true},
		{"the last one", Config{Nonce: 1, Workers: 2, Rank: 1}, true},
		{"one that has come later", Config{Nonce: 1, Workers: 2, Rank: 2}, true},
		{"no nonce", Config{Workers: 1}, false},
		{"no bound", Config{Nonce: 1, Workers: 1, Staleness: Unbounded}, true},
		{"less than none", Config{Nonce: 1, Workers: 1, Staleness: Unbounded - 1}, false},
	} {
		w, err := New(tt.c)
		if (err == nil) != tt.ok || err != nil && (w != nil || !errors.Is(err, ps.ErrUsage)) {
			t.Errorf("%s: %v, want ok %v", tt.name, err, tt.ok)
		}
	}
	w, err := New(Config{Nonce: 1, Workers: 1})
	if err != nil || w.cfg.Window != 1024 || w.cfg.SliceSize != 1<<20 ||
		w.cfg.Timeout != 120*ps.Second || w.cfg.Timing.Dead == 0 || w.View() != nil ||
		w.Incarnation() != 0 || w.MaxShards() != 0 {
		t.Errorf("defaults: %+v, %v", w.cfg, err)
	}
	w, err = New(Config{Nonce: 1, Workers: 1, SliceSize: 1, Timeout: 1})
	if err != nil || w.cfg.SliceSize != 1 || w.cfg.Timeout != 1 {
		t.Errorf("settings at their limits: %+v, %v", w.cfg, err)
	}
}

// TestADoneCallEndsInTime makes a call without a deadline.
func TestADoneCallEndsInTime(t *testing.T) {
	d := joinedDrill(t, Config{Timeout: 2 * ps.Second}, 1)
	if _, err := d.Barrier(d.at, 0); err != nil {
		t.Fatal(err)
	}
	for range 19 {
		d.at += 100 * ps.Millisecond
		d.Tick(d.at)
	}
	d.Tick(d.at + 100*ps.Millisecond - 1)
	d.done(0)
	d.Tick(d.at + 100*ps.Millisecond)
	if e := d.done(1)[0]; !errors.Is(e.Err, ps.ErrTimeout) {
		t.Errorf("got %v, want %v", e.Err, ps.ErrTimeout)
	}
}

// TestTheWindowTakesEveryKey initializes as many keys as the window of a shard takes, and a table.
func TestTheWindowTakesEveryKey(t *testing.T) {
	d := joinedDrill(t, Config{Window: 64}, 1)
	for key := range uint32(64) {
		d.key(key, KeySpec{Total: 4})
	}
	_, err := d.Init(d.at, 64, KeySpec{Total: 4}, make([]byte, 4), 0)
	d.refused("a key too many", err)
	_, err = d.Init(d.at, 64, KeySpec{Sparse: &rows.Spec{Rows: 9, Row: 4}}, nil, 0)
	d.refused("a sparse key too many", err)
	if _, _, err := d.Table(d.at, 64, TableSpec{Rows: 9, RowSize: 4}, 0); err != nil {
		t.Errorf("a table: %v", err)
	}
	if n := len(d.slices); n != 65 {
		t.Errorf("%d slices, want 65", n)
	}
	if _, err := d.Push(d.at, PushOp{Key: 64, Value: make([]byte, 4)}); err == nil {
		t.Error("a push of a table")
	}
	if _, err := d.Pull(d.at, 64, make([]byte, 4), 0, 0); err == nil {
		t.Error("a pull of a table")
	}
	if d.View() != d.me.View || d.Incarnation() != 10 || d.MaxShards() != 1 {
		t.Errorf("incarnation %d, %d shards", d.Incarnation(), d.MaxShards())
	}
}

// TestAuditFindsParts puts parts where they do not belong.
func TestAuditFindsParts(t *testing.T) {
	for name, change := range map[string]func(d *drill, p *part){
		"in two places":     func(d *drill, p *part) { d.idle = append(d.idle, p) },
		"of no call":        func(d *drill, p *part) { p.call = nil },
		"counted too often": func(d *drill, p *part) { p.call.left++ },
		"not counted":       func(d *drill, p *part) { p.call.left-- },
		"unused with a call": func(d *drill, p *part) {
			d.idle = append(d.idle, &part{call: p.call})
		},
		"lent without a call": func(d *drill, _ *part) { d.lent = append(d.lent, &part{}) },
	} {
		d := joinedDrill(t, Config{}, 1)
		d.key(1, KeySpec{Total: 4})
		if _, err := d.Push(d.at, PushOp{Key: 1, Value: make([]byte, 4)}); err != nil {
			t.Fatal(err)
		}
		d.lent = append(d.lent, &part{borrowed: borrowed{kept: true}})
		if err := d.Audit(); err != nil {
			t.Fatal(err)
		}
		if change(d, d.shards[0].flight.At(1)); d.Audit() == nil {
			t.Errorf("a part %s: no error", name)
		}
	}
}

// TestPushesLeaveByPriority lets pushes of several keys wait for credit.
func TestPushesLeaveByPriority(t *testing.T) {
	d := joinedDrill(t, Config{Credit: 4}, 1)
	for key := range uint32(5) {
		d.key(key, KeySpec{Total: 4, Direct: key == 4})
	}
	push := func(key uint32, prio int8) {
		if _, err := d.Push(d.at, PushOp{Key: key, Value: make([]byte, 4),
			Priority: prio}); err != nil {
			t.Fatal(err)
		}
	}
	push(0, 0)
	push(1, 1)
	push(2, 5)
	push(3, 1)
	push(4, 2)
	push(4, 7) // behind the one before it
	var keys []uint32
	for range 6 {
		for _, m := range d.sent() {
			keys = append(keys, m.Key)
			d.ack(&m)
		}
	}
	ready := d.shards[0].ready
	for _, p := range ready[:cap(ready)] {
		if p != nil {
			t.Error("the list of pushes that wait keeps one that has left")
		}
	}
	for _, c := range d.open[:cap(d.open)] {
		if c != nil {
			t.Error("the list of calls keeps one that has ended")
		}
	}
	if d.Pushes(4) != 2 || d.Pushes(5) != 0 {
		t.Errorf("%d pushes of key 4, %d of a key that is not known", d.Pushes(4), d.Pushes(5))
	}
	want := []uint32{0, 2, 4, 4, 1, 3}
	for i := range want {
		if len(keys) != len(want) || keys[i] != want[i] {
			t.Fatalf("keys %v left, want %v", keys, want)
		}
	}
}

// TestCommittedPushesAreNotRepeated commits pushes in another order than they were sent in.
func TestCommittedPushesAreNotRepeated(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	d.key(1, KeySpec{Total: 4, Direct: true})
	for range 5 {
		if _, err := d.Push(d.at, PushOp{Key: 1, Value: make([]byte, 4)}); err != nil {
			t.Fatal(err)
		}
	}
	d.sent()
	commit := func(received uint64, seqs ...uint64) {
		a := wire.Message{Type: wire.TypeAck}
		for _, seq := range seqs {
			a.Payload = wire.AppendAck(a.Payload, seq, wire.Applied)
		}
		a.SetReceipt(wire.Receipt{Received: received})
		d.serve(0, a)
	}
	r := d.shards[0]
	commit(0, 2, 4, 9)
	if r.received != 0 || r.flight.First != 1 || r.bytes != 12 {
		t.Errorf("received %d, first %d, %d bytes, want 0, 1 and 12", r.received, r.flight.First,
			r.bytes)
	}
	d.at += d.me.Timing.Resend
	d.Tick(d.at)
	var seqs []uint64
	for _, m := range d.sent() {
		if m.Type == wire.TypePush {
			seqs = append(seqs, m.Seq)
		}
	}
	if len(seqs) != 3 || seqs[0] != 1 || seqs[1] != 3 || seqs[2] != 5 {
		t.Errorf("pushes %v are repeated, want 1, 3 and 5", seqs)
	}
	commit(0, 1)
	if r.received != 2 || r.flight.First != 3 {
		t.Errorf("received %d, first %d, want 2 and 3", r.received, r.flight.First)
	}
	commit(3)
	if r.received != 4 || r.bytes != 4 {
		t.Errorf("received %d, %d bytes, want 4 and 4", r.received, r.bytes)
	}
	probed := wire.Message{Type: wire.TypeAck}
	probed.SetReceipt(wire.Receipt{Received: 1, Probed: true})
	if d.serve(0, probed); r.received != 2 {
		t.Errorf("received %d by a primary that has forgotten push 3, want 2", r.received)
	}
}

// TestAPullOfManyRowsIsCut reads more rows of a slice than a message may have bytes for.
func TestAPullOfManyRowsIsCut(t *testing.T) {
	d := joinedDrill(t, Config{}, 1)
	const size = node.RowsLimit / 2
	table, _, err := d.Table(d.at, 1, TableSpec{Rows: 9, RowSize: size}, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.created()
	if _, err := table.Get(d.at, []uint32{3, 0, 1, 2, 3, 8}, make([]byte, 6*size), 0); err != nil {
		t.Fatal(err)
	}
	want := [][]uint32{{0, 1}, {2, 3}, {8}}
	list := d.sent()
	for i := range list {
		if len(list) != len(want) || !bytes.Equal(list[i].Payload, wire.AppendIDs(nil, want[i])) {
			t.Fatalf("%d pulls, the %d. of rows % x, want %v", len(list), i, list[i].Payload, want)
		}
	}
}

// TestAPushBehindAFullWindowNamesItsServer makes more pushes of a key without rounds than the window
// takes: the last one waits for the server of its own slice.
func TestAPushBehindAFullWindowNamesItsServer(t *testing.T) {
	d := joinedDrill(t, Config{Window: 64}, 2)
	d.key(1, KeySpec{Total: 4, Direct: true})
	shard := d.slices[0].shard
	for i := range 65 {
		deadline := d.at + 3*ps.Second
		if i == 64 {
			deadline = d.at + ps.Second
		}
		if _, err := d.Push(d.at, PushOp{Key: 1, Value: make([]byte, 4), Deadline: deadline}); err !=
			nil {
			t.Fatal(err)
		}
	}
	if n, q := d.shards[shard].flight.Len(), len(d.slices[0].queue); n != 64 || q != 1 {
		t.Fatalf("%d pushes are under way and %d wait, want 64 and 1", n, q)
	}
	d.sent()
	d.Tick(d.at + ps.Second)
	var e *ps.Error
	if err := d.done(1)[0].Err; !errors.As(err, &e) || e.Peer != srv(int(shard)) ||
		!errors.Is(err, ps.ErrTimeout) {
		t.Errorf("got %v, want a deadline at server %d", err, shard)
	}
}
