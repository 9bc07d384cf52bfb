package worker

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// rowTable returns a table of floats whose blocks have some rows, on a worker of one shard.
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

// TestTablesAreCutIntoBlocks tries tables at the bounds and looks at their blocks.
func TestTablesAreCutIntoBlocks(t *testing.T) {
	for name, tt := range map[string]struct {
		spec   TableSpec
		slice  uint64
		blocks int
		per    uint32
		last   uint64 // bytes of the last block
	}{
		"no such type":    {spec: TableSpec{DType: 99, Rows: 1, RowSize: 4}},
		"no rows":         {spec: TableSpec{RowSize: 4}},
		"empty rows":      {spec: TableSpec{Rows: 1}},
		"half an element": {spec: TableSpec{DType: dtype.Float32, Rows: 1, RowSize: 6}},
		"row too large": {spec: TableSpec{DType: dtype.Uint8, Rows: 1,
			RowSize: node.TickLimit/2 + 1}},
		"large row": {TableSpec{DType: dtype.Uint8, Rows: 1, RowSize: node.TickLimit / 2},
			64, 1, 1, node.TickLimit / 2},
		"one row":         {TableSpec{DType: dtype.Float32, Rows: 1, RowSize: 4}, 64, 1, 1, 4},
		"one block":       {TableSpec{DType: dtype.Float32, Rows: 16, RowSize: 4}, 64, 1, 16, 64},
		"one row more":    {TableSpec{DType: dtype.Float32, Rows: 17, RowSize: 4}, 64, 2, 16, 4},
		"rows of a slice": {TableSpec{DType: dtype.Float32, Rows: 3, RowSize: 64}, 64, 3, 1, 64},
		"more than one":   {TableSpec{DType: dtype.Float32, Rows: 3, RowSize: 68}, 64, 3, 1, 68},
		"65535 blocks": {TableSpec{DType: dtype.Uint8, Rows: 65535, RowSize: 64}, 64, 65535, 1,
			64},
		"65536 rows": {TableSpec{DType: dtype.Uint8, Rows: 65536, RowSize: 64}, 64, 32768, 2,
			128},
	} {
		d := joinedDrill(t, Config{SliceSize: max(64, tt.slice)}, 1)
		tb, _, err := d.Table(d.at, 1, tt.spec, 0)
		if tt.blocks == 0 {
			d.refused(name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := uint64(0)
		for i, sl := range tb.key.slices {
			if sl.lo != at || sl.id != (ps.ID{Key: 1, Slice: uint16(i)}) {
				t.Fatalf("%s: block %d begins at %d, want %d", name, i, sl.lo, at)
			}
			at = sl.hi
		}
		last := tb.key.slices[len(tb.key.slices)-1]
		if len(tb.key.slices) != tt.blocks || tb.per != tt.per || last.hi-last.lo != tt.last ||
			at != uint64(tt.spec.Rows)*uint64(tt.spec.RowSize) {
			t.Errorf("%s: %d blocks of %d rows, the last of %d bytes, want %d of %d, the last "+
				"of %d",
				name, len(tb.key.slices), tb.per, last.hi-last.lo, tt.blocks, tt.per, tt.last)
		}
		if _, _, err := d.Table(d.at, 1, tt.spec, 0); err == nil {
			t.Errorf("%s: it exists twice", name)
		}
	}
	// Worker 0 creates it, worker 1 waits; a table takes no room in the window.
	for rank := range uint16(2) {
		d := joinedDrill(t, Config{Window: 64, SliceSize: 64}, 1)
		d.me.Self.Rank = rank
		if _, _, err := d.Table(d.at, 1, TableSpec{Rows: 100, RowSize: 64}, 0); err != nil {
			t.Fatal(err)
		}
		for _, m := range d.sent() {
			if m.Flags != wire.FlagDirect|wire.FlagRows|wire.FlagCreate && rank == 0 ||
				m.Flags != wire.FlagDirect|wire.FlagRows && rank == 1 ||
				m.Block() != (wire.Block{Row: 64, Size: 64}) {
				t.Fatalf("rank %d: %+v", rank, m)
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
	if want := 2 * (8 + 2*wire.RowsHead); d.steps[0] != want {
		t.Errorf("%d bytes of rows, want %d", d.steps[0], want)
	}
	// The rows leave with the step; their memory is used again.
	if _, err := d.Clock(d.at, 0); err != nil {
		t.Fatal(err)
	}
	list := d.sent()
	if len(list) != 2 || list[0].Type != wire.TypePush || list[1].Type != wire.TypeTick ||
		list[0].Clock != 1 || list[1].Clock != 1 || list[0].Flags&wire.FlagRows == 0 {
		t.Fatalf("messages %v, want rows and a tick", list)
	}
	var want []byte
	for _, b := range []struct {
		slice uint16
		at    uint32
		data  []byte
	}{{0, 3, row(3, 6)}, {2, 3, row(6, 8)}} {
		want = wire.AppendRows(want, 1, b.slice, 1, 8)
		want = wire.Pad8(binary.LittleEndian.AppendUint32(want, b.at))
		want = wire.Pad8(append(want, b.data...))
	}
	if !bytes.Equal(list[0].Payload, want) {
		t.Errorf("rows % x, want % x", list[0].Payload, want)
	}
	if len(tb.log) != 0 || d.steps[0] != 0 || d.Clocks() != 1 || len(tb.spare) != 2 {
		t.Errorf("after the step: %v, %d bytes, clock %d, %d spare rows", tb.log, d.steps[0],
			d.Clocks(), len(tb.spare))
	}
	d.ack(&list[0])
	d.done(0)
	d.ack(&list[1])
	d.done(1)
	if err := tb.Inc(3, row(5, 5)); err != nil || len(tb.spare) != 1 ||
		!bytes.Equal(tb.log[3], row(5, 5)) {
		t.Errorf("%v, %d spare rows, row %v", err, len(tb.spare), tb.log[3])
	}
	// A step that the shard has is left out.
	clear(tb.log)
	clear(d.steps)
	d.ticks[0] = 2
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
	if len(list) != 2 || list[0].Slice != 0 || list[1].Slice != 1 ||
		!bytes.Equal(list[0].Payload, []byte{1, 0, 0, 0}) ||
		!bytes.Equal(list[1].Payload, []byte{1, 0, 0, 0, 2, 0, 0, 0}) ||
		list[0].Need != 0 || list[0].Clock != 0 {
		t.Fatalf("asked for %+v, want rows of blocks 0 and 1", list)
	}
	answer(&list[1], 4, row(1, 2)) // a row too few
	if n := len(d.me.Out.Events); n == 0 || d.me.Out.Events[n-1].Kind != ps.EventRefused {
		t.Error("an answer with another number of rows is taken in")
	}
	answer(&list[1], 4, append(row(1, 2), row(3, 4)...))
	d.done(0)
	answer(&list[0], 4, row(5, 6))
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
	for clock, want := range map[uint64]uint64{0: 0, 1: 0, 2: 1, 5: 4} {
		if d.clock = clock; tb.need() != want {
			t.Errorf("at clock %d: needs %d, want %d", clock, tb.need(), want)
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
	if len(tb.cache) != 3 || tb.cache[9].clock != 5 || !bytes.Equal(tb.cache[9].data, row(7, 7)) {
		t.Errorf("cache %v", tb.cache)
	}
	tb.keep(19, row(8, 8), 9)
	if len(tb.cache) != 1 || !bytes.Equal(tb.cache[19].data, row(8, 8)) {
		t.Errorf("full cache %v", tb.cache)
	}
	tb.bound = Unbounded
	if tb.need() != 0 {
		t.Errorf("without a bound it needs %d", tb.need())
	}
	// Without a cache nothing is kept.
	tb.limit = 0
	if _, id = get(0); id == 0 {
		t.Fatal("row 0 is cached")
	}
	answer(d.one(wire.TypePull), 9, row(1, 1))
	d.done(1)
	if len(tb.cache) != 1 {
		t.Errorf("cache %v without room", tb.cache)
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
		if d.clock = 5; tb.need() != tt.need || tb.limit != tt.limit {
			t.Errorf("%s: needs clock %d and keeps %d rows, want %d and %d", name, tb.need(), tb.limit,
				tt.need, tt.limit)
		}
	}
}
