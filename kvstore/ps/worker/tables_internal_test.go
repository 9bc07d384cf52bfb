package worker

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// rowTable returns a table on a worker of one shard.
func rowTable(t *testing.T, c Config, spec TableSpec) (*drill, *Table) {
	t.Helper()
	d := joinedDrill(t, c, 1)
	tb, _, err := d.Table(d.at, 1, spec, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.created()
	return d, tb
}

// row returns a row of two floats.
func row(a, b float32) []byte {
	out := make([]byte, 8)
	for i, v := range [2]float32{a, b} {
		ps.Plain{}.Add(out[4*i:4*i+4], binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)),
			dtype.Float32, 0)
	}
	return out
}

// TestTablesHaveASliceOnEveryShard tries tables at the bounds and looks at their slices.
func TestTablesHaveASliceOnEveryShard(t *testing.T) {
	for name, tt := range map[string]struct {
		spec TableSpec
		ok   bool
	}{
		"no such type":    {TableSpec{DType: 99, Rows: 1, RowSize: 4}, false},
		"no rows":         {TableSpec{RowSize: 4}, false},
		"empty rows":      {TableSpec{Rows: 1}, false},
		"half an element": {TableSpec{DType: dtype.Float32, Rows: 1, RowSize: 6}, false},
		"row too large": {TableSpec{DType: dtype.Uint8, Rows: 9, RowSize: node.RowsLimit + 1},
			false},
		"large row":      {TableSpec{DType: dtype.Uint8, Rows: 9, RowSize: node.RowsLimit}, true},
		"a row for each": {TableSpec{DType: dtype.Float32, Rows: 3, RowSize: 4}, true},
		"many rows": {TableSpec{DType: dtype.Float32, Rows: math.MaxUint32, RowSize: 4},
			true},
	} {
		d := joinedDrill(t, Config{}, 3)
		tb, _, err := d.Table(d.at, 1, tt.spec, 0)
		if !tt.ok {
			d.refused(name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		shards := map[uint32]bool{}
		for i, sl := range tb.key.slices {
			shards[sl.shard] = true
			if sl.id != (ps.ID{Key: 1, Slice: uint16(i)}) {
				t.Fatalf("%s: slice %d is %v", name, i, sl.id)
			}
		}
		if len(shards) != 3 || len(tb.key.slices) != 3 {
			t.Errorf("%s: %d slices on %d shards, want 3 on 3", name, len(tb.key.slices),
				len(shards))
		}
		if _, _, err := d.Table(d.at, 1, tt.spec, 0); err == nil {
			t.Errorf("%s: it exists twice", name)
		}
	}
	// Worker 0 creates it, worker 1 waits; a table takes no room in the window.
	for rank := range uint16(2) {
		d := joinedDrill(t, Config{Window: 64, SliceSize: 64}, 1)
		d.me.Self.Rank, d.clock = rank, 5
		init := rows.Init{Kind: rows.KindNormal, Scale: 2, Seed: 3}
		if _, _, err := d.Table(d.at, 1, TableSpec{Rows: 100, RowSize: 64, Init: init},
			0); err != nil {
			t.Fatal(err)
		}
		want := wire.FlagDirect | wire.FlagRows | wire.FlagSparse
		if rank == 0 {
			want |= wire.FlagCreate
		}
		for _, m := range d.sent() {
			sp, _, err := rows.DecodeSpec(ps.ID{Key: 1}, 1, dtype.Float32, m.Payload)
			if m.Flags != want || m.Clock != 5 || err != nil || sp.Init != init || sp.Rows != 100 {
				t.Fatalf("rank %d: %+v, rows %+v, %v", rank, m, sp, err)
			}
		}
		if _, err := d.Init(d.at, 2, KeySpec{Total: 64 * 64}, make([]byte, 64*64), 0); err != nil {
			t.Errorf("a table takes room of keys: %v", err)
		}
	}
}

// TestDeltasAreAddedUp changes rows, in one step and in steps that are repeated.
func TestDeltasAreAddedUp(t *testing.T) {
	d, tb := rowTable(t, Config{SliceSize: 64}, TableSpec{DType: dtype.Float32, Rows: 20,
		RowSize: 8})
	for name, err := range map[string]error{
		"row 20":       tb.Inc(20, make([]byte, 8)),
		"7 bytes":      tb.Inc(19, make([]byte, 7)),
		"9 bytes":      tb.Inc(19, make([]byte, 9)),
		"three halves": tb.BatchInc([]uint32{1, 2}, make([]byte, 12)),
		"one bad row":  tb.BatchInc([]uint32{20}, make([]byte, 8)),
	} {
		d.refused(name, err)
	}
	delta := row(1, 2)
	for range 2 {
		if err := tb.BatchInc([]uint32{3, 19}, append(row(1, 2), row(3, 4)...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.Inc(3, delta); err != nil {
		t.Fatal(err)
	}
	clear(delta) // it was copied
	if len(tb.log) != 2 || !bytes.Equal(tb.log[3], row(3, 6)) ||
		!bytes.Equal(tb.log[19], row(6, 8)) {
		t.Errorf("changed rows %v", tb.log)
	}
	if tb.bytes[0] != 16 {
		t.Errorf("%d bytes of rows, want 16", tb.bytes[0])
	}
	// The rows leave with the step; their memory is used again.
	if _, err := d.Clock(d.at, 0); err != nil {
		t.Fatal(err)
	}
	list := d.sent()
	want := append(append(wire.AppendIDs(nil, []uint32{3, 19}), row(3, 6)...), row(6, 8)...)
	if len(list) != 1 || list[0].Type != wire.TypePush || list[0].Clock != 1 ||
		!bytes.Equal(list[0].Payload, want) {
		t.Fatalf("messages %v, want a push of % x", list, want)
	}
	if len(tb.log) != 0 || tb.bytes[0] != 0 || d.Clocks() != 1 || len(tb.spare) != 2 {
		t.Errorf("after the step: %v, %d bytes, clock %d, %d spare rows", tb.log, tb.bytes[0],
			d.Clocks(), len(tb.spare))
	}
	d.done(0)
	d.ack(&list[0])
	d.done(1)
	if err := tb.Inc(3, row(5, 5)); err != nil || len(tb.spare) != 1 ||
		!bytes.Equal(tb.log[3], row(5, 5)) {
		t.Errorf("%v, %d spare rows, row %v", err, len(tb.spare), tb.log[3])
	}
	// A step that the shard has is left out.
	clear(tb.log)
	clear(tb.bytes)
	tb.key.slices[0].old = 2
	if err := tb.Inc(3, row(5, 5)); err != nil || len(tb.log) != 0 {
		t.Errorf("%v, a row of a step that is there: %v", err, tb.log)
	}
	if _, err := d.Clock(d.at, 0); err != nil {
		t.Fatal(err)
	}
	d.done(1)
	if n := len(d.sent()); n != 0 {
		t.Errorf("%d messages of a step that is there", n)
	}
	if err := tb.Inc(3, row(5, 5)); err != nil || len(tb.log) != 1 {
		t.Errorf("%v, the step behind: %v", err, tb.log)
	}
}

// TestReadsOfRows reads rows from the servers and from the cache.
func TestReadsOfRows(t *testing.T) {
	d, tb := rowTable(t, Config{SliceSize: 64, Staleness: 1},
		TableSpec{DType: dtype.Float32, Rows: 20, RowSize: 8, CacheRows: 3})
	get := func(rows ...uint32) ([]byte, uint64) {
		t.Helper()
		out := make([]byte, 8*len(rows))
		id, err := tb.Get(d.at, rows, out, 0)
		if err != nil {
			t.Fatal(err)
		}
		return out, id
	}
	if _, err := tb.Get(d.at, []uint32{1}, make([]byte, 9), 0); err == nil {
		t.Error("room for a byte more is accepted")
	}
	if _, err := tb.Get(d.at, []uint32{1, 20}, make([]byte, 16), 0); err == nil {
		t.Error("row 20 of 20 is read")
	}
	if len(d.open) > 0 {
		t.Error("a call is open that was refused")
	}
	answer := func(q *wire.Message, version uint64, data []byte) {
		m := wire.Message{Type: wire.TypeValue, Payload: data}
		m.Key, m.Slice = q.Key, q.Slice
		m.SetAnswer(wire.Answer{Seq: q.Seq, Version: version})
		d.serve(q.Shard, m)
	}
	if err := tb.Inc(9, row(10, 20)); err != nil {
		t.Fatal(err)
	}
	out, _ := get(9, 1, 10)
	list := d.sent()
	if len(list) != 1 || !bytes.Equal(list[0].Payload, wire.AppendIDs(nil, []uint32{1, 9, 10})) ||
		list[0].Need != 0 || list[0].Clock != 0 {
		t.Fatalf("asked for %+v, want rows 1, 9 and 10", list)
	}
	answer(&list[0], 4, row(1, 2)) // rows too few
	if n := len(d.me.Out.Events); n == 0 || d.me.Out.Events[n-1].Kind != ps.EventRefused {
		t.Error("an answer with another number of rows is taken in")
	}
	d.done(0)
	answer(&list[0], 4, append(append(row(5, 6), row(1, 2)...), row(3, 4)...))
	d.done(1)
	if want := append(append(row(11, 22), row(5, 6)...), row(3, 4)...); !bytes.Equal(out, want) {
		t.Errorf("read %v, want %v", out, want)
	}
	// All are cached, without the worker's own changes.
	out, id := get(1, 9)
	if want := append(row(5, 6), row(11, 22)...); id != 0 || !bytes.Equal(out, want) {
		t.Errorf("call %d, read %v, want %v from the cache", id, out, want)
	}
	// The step goes into the cached rows.
	if _, err := d.Clock(d.at, 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range d.sent() {
		d.ack(&m)
	}
	d.done(1)
	out, id = get(9)
	if id != 0 || !bytes.Equal(out, row(11, 22)) {
		t.Errorf("call %d, read %v after the step", id, out)
	}
	// With a staleness of 1 the cached clock 4 is fresh enough up to clock 5.
	need := func() uint64 {
		p := part{slice: tb.key.slices[0]}
		d.wantRows(&p)
		return p.need
	}
	for clock, want := range map[uint64]uint64{0: 0, 1: 0, 2: 1, 5: 4} {
		if d.clock = clock; need() != want {
			t.Errorf("at clock %d: needs %d, want %d", clock, need(), want)
		}
	}
	d.clock = 5
	if _, id = get(9); id != 0 {
		t.Error("a row that is fresh enough is asked for")
	}
	d.clock = 6
	if _, id = get(9); id == 0 {
		t.Fatal("a row that is too old is not asked for")
	}
	q := d.one(wire.TypePull)
	if q.Need != 5 || q.Clock != 6 {
		t.Errorf("it needs %d, own %d, want 5 and 6", q.Need, q.Clock)
	}
	// An answer that crosses a step is asked for again.
	d.clock = 7
	answer(q, 5, row(0, 0))
	d.done(0)
	if q = d.one(wire.TypePull); q.Clock != 7 {
		t.Errorf("asked again with own %d, want 7", q.Clock)
	}
	answer(q, 5, row(7, 7))
	d.done(1)
	// The cache is emptied when it is full, not by a row that it has.
	cache := &tb.key.sparse.cache
	if len(cache.rows) != 3 || cache.rows[9].clock != 5 ||
		!bytes.Equal(cache.rows[9].data, row(7, 7)) {
		t.Errorf("cache %v", cache.rows)
	}
	cache.keep(19, row(8, 8), 9)
	if len(cache.rows) != 1 || !bytes.Equal(cache.rows[19].data, row(8, 8)) {
		t.Errorf("full cache %v", cache.rows)
	}
	tb.bound = Unbounded
	if need() != 0 {
		t.Errorf("without a bound it needs %d", need())
	}
	// Without a cache nothing is kept.
	cache.limit = 0
	if _, id = get(0); id == 0 {
		t.Fatal("row 0 is cached")
	}
	answer(d.one(wire.TypePull), 9, row(1, 1))
	d.done(1)
	if len(cache.rows) != 1 {
		t.Errorf("cache %v without room", cache.rows)
	}
}

// TestBoundsOfTables: a table in step reads what all workers have done so far, in any store; rows of
// a table without a bound are not kept.
func TestBoundsOfTables(t *testing.T) {
	for name, tt := range map[string]struct {
		staleness int
		inStep    bool
		need      uint64
		limit     int
	}{
		"in step":           {Unbounded, true, 5, 3},
		"in step, bounded":  {2, true, 5, 3},
		"bounded":           {2, false, 3, 3},
		"further than ever": {9, false, 0, 3},
		"unbounded":         {Unbounded, false, 0, 0},
	} {
		d, tb := rowTable(t, Config{SliceSize: 64, Staleness: tt.staleness},
			TableSpec{DType: dtype.Float32, Rows: 20, RowSize: 8, CacheRows: 3, InStep: tt.inStep})
		d.clock = 5
		p := part{slice: tb.key.slices[0]}
		if d.wantRows(&p); p.need != tt.need || tb.key.sparse.cache.limit != tt.limit {
			t.Errorf("%s: needs clock %d and keeps %d rows, want %d and %d", name, p.need,
				tb.key.sparse.cache.limit, tt.need, tt.limit)
		}
	}
}

// TestRowsOfAStepHaveALimit changes as many bytes of rows in a step as a message may have.
func TestRowsOfAStepHaveALimit(t *testing.T) {
	d, tb := rowTable(t, Config{}, TableSpec{DType: dtype.Float32, Rows: 20, RowSize: 8})
	tb.bytes[0] = node.RowsLimit - 8
	if err := tb.Inc(1, row(1, 1)); err != nil || tb.bytes[0] != node.RowsLimit {
		t.Fatalf("the last row: %v, %d bytes", err, tb.bytes[0])
	}
	if err := tb.Inc(1, row(1, 1)); err != nil || !bytes.Equal(tb.log[1], row(2, 2)) {
		t.Errorf("the same row again: %v, sum %v", err, tb.log[1])
	}
	d.refused("a row too many", tb.Inc(2, row(1, 1)))
	if len(tb.log) != 1 {
		t.Errorf("%d rows are changed, want 1", len(tb.log))
	}
	if _, err := d.Clock(d.at, 0); err != nil {
		t.Fatal(err)
	}
	if err := tb.Inc(2, row(1, 1)); err != nil || tb.bytes[0] != 8 {
		t.Errorf("the same row in the next step: %v, %d bytes", err, tb.bytes[0])
	}
}
