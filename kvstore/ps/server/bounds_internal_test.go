package server

import (
	"bytes"
	"errors"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// TestSettingsThatMakeNoSense makes servers of configurations at their limits and beyond.
func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		ok   bool
	}{
		{"one worker", Config{Nonce: 1, Workers: 1}, true},
		{"no worker", Config{Nonce: 1}, false},
		{"65535 workers", Config{Nonce: 1, Workers: 1<<16 - 1}, true},
		{"65536 workers", Config{Nonce: 1, Workers: 1 << 16}, false},
		{"no nonce", Config{Workers: 1}, false},
		{"a backup worker", Config{Nonce: 1, Workers: 2, Backups: 1}, true},
		{"backup workers only", Config{Nonce: 1, Workers: 2, Backups: 2}, false},
		{"fewer than none", Config{Nonce: 1, Workers: 2, Backups: -1}, false},
	} {
		s, err := New(tt.c)
		if (err == nil) != tt.ok || err != nil && (s != nil || !errors.Is(err, ps.ErrUsage)) {
			t.Errorf("%s: %v, want ok %v", tt.name, err, tt.ok)
		}
	}
	s, err := New(Config{Nonce: 1, Workers: 1})
	if err != nil || s.cfg.CheckEvery != 64 || s.cfg.Arithmetic != (ps.Plain{}) ||
		s.cfg.Window != 1024 || s.cfg.Timing.Dead == 0 {
		t.Errorf("defaults: %+v, %v", s.cfg, err)
	}
}

// TestAServerShowsItsState asks a server about itself before and after it has a place.
func TestAServerShowsItsState(t *testing.T) {
	s, err := New(Config{Job: 1, Nonce: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Value(ps.ID{Key: 1}); ok || s.View() != nil || s.Incarnation() != 0 ||
		s.Fenced() || s.Gone() {
		t.Error("a server without a view shows more than it has")
	}
	if _, ok := s.Copy(ps.ID{Key: 1}); ok {
		t.Error("a server without shards has a copy")
	}
	sh, e := testShard(t, nil)
	s.host, s.shards = sh.host, []*shard{nil, sh}
	e.version = 7
	v, version, ok := s.Value(e.id)
	if !ok || version != 7 || &v[0] != &e.value.data()[0] || s.Incarnation() != 1 ||
		s.View() != sh.me.View {
		t.Errorf("value %v at %d, %v; incarnation %d", v, version, ok, s.Incarnation())
	}
	if _, _, ok := s.Value(ps.ID{Key: 9}); ok {
		t.Error("it has a value of a key that is not known")
	}
	sh.role = backup
	if _, _, ok := s.Value(e.id); ok {
		t.Error("a backup shows a value as its own")
	}
	if v, ok := s.Copy(e.id); !ok || &v[0] != &e.value.data()[0] {
		t.Error("a backup does not show its copy")
	}
	if _, ok := s.Copy(ps.ID{Key: 9}); ok {
		t.Error("it has a copy of a key that is not known")
	}
	if _, ok := s.Follows(2); ok {
		t.Error("it follows a shard that is not there")
	}
	if _, _, ok := s.Leads(2); ok {
		t.Error("it leads a shard that is not there")
	}
	if _, _, ok := s.Checksum(2); ok {
		t.Error("it has a shard that is not there")
	}
	s.me.Left, s.me.Inc = true, 0
	if !s.Gone() {
		t.Error("a server that has left before it had a place is not gone")
	}
	s.me.Fenced = true
	if !s.Fenced() {
		t.Error("it does not say that its place is taken")
	}
	l := e.value.lend()
	if s.Release(l); e.value.refs != 1 {
		t.Errorf("%d references to a value after Release, want 1", e.value.refs)
	}
}

// sparseEntry makes an entry sparse, with rows of some bytes.
func sparseEntry(e *entry, row int) {
	e.sparse = rows.NewPart(rows.Spec{Rows: 1 << 30, Row: row, DType: dtype.Float32}, nil)
}

// listOf returns the first rows of a list without values.
func listOf(n int) []byte {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	return wire.AppendIDs(nil, ids)
}

// TestRowsAreBounded checks pulls and pushes of rows at their limits.
func TestRowsAreBounded(t *testing.T) {
	sh, e := testShard(t, nil)
	m := pushOf(1, 1)
	m.Type, m.Flags, m.Payload = wire.TypePull, wire.FlagRows, listOf(1)
	if checkWanted(e, m) == nil {
		t.Error("rows of a key that has none")
	}
	const row = 1 << 20
	const most = node.MaxSlice / row
	sparseEntry(e, row)
	for n, ok := range map[int]bool{0: true, most: true, most + 1: false} {
		m.Payload = listOf(n)
		if err := checkWanted(e, m); (err == nil) != ok {
			t.Errorf("a pull of %d rows of %d bytes: %v", n, row, err)
		}
	}
	m.Flags, m.Payload = 0, listOf(1)
	if checkWanted(e, m) == nil {
		t.Error("a pull of a whole sparse key")
	}
	for _, tt := range []struct {
		kind   wire.Type
		rows   int
		direct bool
		ok     bool
	}{{wire.TypePush, most/3 - 1, false, true}, {wire.TypePush, most/3 + 1, false, false},
		{wire.TypePush, most - 1, true, true}, {wire.TypePush, most, true, false},
		{wire.TypePushPull, 1, false, false}} {
		m := pushOf(1, 1)
		m.Type, m.Payload = tt.kind, append(listOf(tt.rows), make([]byte, tt.rows*row)...)
		e.traits.direct = tt.direct
		if err := sh.fits(e, m); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// owner counts how often lent memory comes back.
type owner struct{ released int }

func (o *owner) Release() { o.released++ }

// TestLentPushesGoBack keeps pushes where a transport has received them until they are in the sum.
func TestLentPushesGoBack(t *testing.T) {
	sh, e := testShard(t, nil)
	var o [2]owner
	for i := range o {
		m := pushOf(1+i, 1, 1, 1, 1, 1)
		m.Owner = &o[i]
		sh.fromWorker(m)
		if o[i].released != 0 || m.Owner != nil || sh.stats.Held != uint64(16*(1+i)) {
			t.Fatalf("push %d: released %d times, %d bytes held", i, o[i].released, sh.stats.Held)
		}
	}
	sh.fromWorker(pushOf(0, 1, 1, 1, 1, 1))
	if o[0].released != 1 || o[1].released != 1 || sh.stats.Held != 0 || e.version != 1 {
		t.Errorf("released %+v times, %d bytes held, version %d", o, sh.stats.Held, e.version)
	}
	// The memory of a push that was copied is used again, for the next push of its length.
	sh.fromWorker(pushOf(2, 2, 2, 2, 2, 2))
	first := &e.rounds[0].have[2].payload[0]
	sh.fromWorker(pushOf(1, 2, 2, 2, 2, 2))
	second := &e.rounds[0].have[1].payload[0]
	sh.fromWorker(pushOf(0, 2, 2, 2, 2, 2))
	sh.fromWorker(pushOf(2, 3, 2, 2, 2, 2))
	if got := &e.rounds[0].have[2].payload[0]; got != first && got != second {
		t.Error("the memory of a copied push is not used again")
	}
	m := pushOf(1, 3, 3, 3, 3, 3)
	m.Owner = &o[0]
	sh.fromWorker(m)
	sh.close()
	if o[0].released != 2 || sh.stats.Held != 0 || sh.mem.used != 0 || sh.mem.slices != 0 {
		t.Errorf("a copy that is given up: released %d times, %d bytes held, %d of memory",
			o[0].released, sh.stats.Held, sh.mem.used)
	}
}

// TestPullsAreBounded lets a worker pull more than it has reason to.
func TestPullsAreBounded(t *testing.T) {
	sh, e := testShard(t, nil)
	sh.cfg.Window = 64
	pull := func(rank int, seq uint64) *wire.Message {
		m := pushOf(rank, seq)
		m.Type, m.Clock, m.Need = wire.TypePull, 0, 5
		return m
	}
	for seq := range uint64(2*64 + 5) {
		sh.fromWorker(pull(1, 1+seq))
	}
	sh.fromWorker(pull(2, 1))
	if sh.parked != 2*64+1 || sh.waiting[1] != 2*64 || len(e.parked) != sh.parked {
		t.Errorf("%d pulls wait, %d of rank 1, want 129 and 128", sh.parked, sh.waiting[1])
	}
	sparseEntry(e, 4)
	e.traits.direct = true
	m := pull(0, 1)
	m.Flags, m.Payload = wire.FlagRows, listOf(node.RowsLimit/4)
	for seq := range uint64(5) {
		m.Seq = 1 + seq
		sh.fromWorker(m)
	}
	kept := 0
	for i := range e.parked {
		kept += len(e.parked[i].rows)
	}
	if kept != 3*len(m.Payload) {
		t.Errorf("%d bytes of row numbers wait, want %d", kept, 3*len(m.Payload))
	}
}

// TestManyEarlyMessages keeps messages for a later view up to a limit.
func TestManyEarlyMessages(t *testing.T) {
	s, err := New(Config{Job: 1, Nonce: 1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	half := make([]byte, earlyBytes/2-wire.HeaderSize)
	ask := func(seq uint64, b []byte) int {
		m := &wire.Message{Type: wire.TypeInit, Job: 1, From: wire.Node{Role: wire.Worker},
			Seq:         seq,
			Incarnation: 10, Payload: b}
		s.me.Asked = false
		s.Handle(0, m.From, m)
		if !s.me.Asked {
			t.Error("no view is asked for")
		}
		return len(s.ahead)
	}
	if n := ask(1, half); n != 1 {
		t.Errorf("%d messages are kept, want 1", n)
	}
	if n := ask(2, append(half, 0)); n != 1 {
		t.Errorf("%d messages are kept, want 1", n)
	}
	if n := ask(2, half); n != 2 || bytes.Equal(half, []byte{1}) {
		t.Errorf("%d messages are kept, want 2", n)
	}
	if n := ask(2, half); n != 2 {
		t.Errorf("%d messages are kept after a repetition, want 2", n)
	}
	half[0] = 1
	if s.ahead[1].Payload[0] != 0 {
		t.Error("the payload of a message is not copied")
	}
	if n := ask(3, nil); n != 2 {
		t.Errorf("%d messages are kept, want 2", n)
	}
}
