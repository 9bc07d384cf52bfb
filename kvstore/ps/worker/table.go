package worker

import (
	"encoding/binary"
	"maps"
	"slices"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// Table is a worker's view of a matrix that is kept row by row: rows are read by Get, changed by
// Inc, and Clock ends a step. Deltas of a worker are kept back until Clock, added up per row; Get
// sees them at once.
//
// Rows that have been read are kept as long as the staleness allows, up to CacheRows of them.
//
// A table is cut into blocks of whole rows, each of which is a slice of a key. A Table belongs to
// its worker, and to the goroutine that drives it.
type Table struct {
	ts    *tables
	key   *workerKey        // its slices are the blocks
	rows  uint32            // number of rows
	per   uint32            // rows of a block; the last one may have fewer
	log   map[uint32][]byte // sums of the deltas since the last Clock, by row
	cache map[uint32]cached // rows that have been read, without the deltas in log
	limit int               // rows in cache; 0: none is kept
	// bound is the number of clocks by which others may be behind in the rows of a Get, or
	// Unbounded: then a Get waits for nobody.
	bound int
	spare [][]byte // memory for deltas
}

// cached is a row that was read.
type cached struct {
	data  []byte // owned by the cache
	clock uint64 // all workers' steps up to here are in it
}

// TableSpec is the description of a table. Its rows begin with zeros.
type TableSpec struct {
	DType     dtype.Type
	Rows      uint32
	RowSize   int // bytes of a row
	CacheRows int // rows that the worker keeps; 0: none, as where nobody waits for anybody
	// InStep makes a Get wait for all earlier steps of all workers, whatever Config.Staleness says.
	InStep bool
}

// tables is the tables of a worker. A step ends for all of them together.
type tables struct {
	*agent
	*calls
	*routes
	*progress
	byKey map[uint32]*Table
	steps []int // bytes of rows changed in this step, by shard
}

// table creates a table. It begins with zeros, so no value is sent; worker 0 says its size.
func (ks *keyset) table(now ps.Time, key uint32, spec TableSpec, deadline ps.Time,
) (*Table, uint64, error) {
	if err := ks.usable("table", key); err != nil {
		return nil, 0, err
	}
	switch {
	case ks.keys[key] != nil:
		return nil, 0, usage("table", key, "it exists already")
	case !spec.DType.Valid() || spec.Rows == 0 || spec.RowSize <= 0 ||
		spec.RowSize%spec.DType.Size() != 0 || spec.RowSize > node.TickLimit/2:
		return nil, 0, usage("table", key, "%d rows of %d bytes of %s", spec.Rows, spec.RowSize,
			spec.DType)
	}
	// Blocks are about as large as slices of other keys, but a message has 16 bits for their
	// number.
	const most = 1<<16 - 1
	all := uint64(spec.Rows)
	per := max(1, min(ks.cfg.SliceSize/uint64(spec.RowSize), all), (all+most-1)/most)
	if per*uint64(spec.RowSize) > node.MaxSlice {
		return nil, 0, usage("table", key, "%d rows of %d bytes are too many", spec.Rows,
			spec.RowSize)
	}
	k := &workerKey{key: key, dtype: spec.DType, total: uint64(spec.RowSize), direct: true,
		row: spec.RowSize}
	for lo := uint64(0); lo < all; lo += per {
		hi := min(lo+per, all)
		k.slices = append(k.slices, ks.newSlice(k, uint16(len(k.slices)), lo*uint64(spec.RowSize),
			hi*uint64(spec.RowSize)))
	}
	if err := ks.addKey(k); err != nil {
		return nil, 0, err
	}
	t := &Table{ts: ks.tables, key: k, rows: spec.Rows, per: uint32(per), log: map[uint32][]byte{},
		cache: map[uint32]cached{}, limit: spec.CacheRows, bound: ks.cfg.Staleness}
	if spec.InStep {
		t.bound = 0
	}
	if t.bound == Unbounded {
		// A row that is kept would never be too old: this worker would never see the changes that
		// others make after its first read.
		t.limit = 0
	}
	ks.byKey[key] = t
	if ks.steps == nil {
		ks.steps = make([]int, len(ks.shards))
	}
	c := ks.newCall(now, "table", key, deadline)
	for _, sl := range k.slices {
		p := ks.newPart(c, wire.TypeInit, sl.shard)
		p.slice, p.flags = sl, wire.FlagDirect|wire.FlagRows
		if ks.lowest() {
			p.flags |= wire.FlagCreate
		}
		ks.ask(p)
	}
	return t, c.id, nil
}

// Inc adds to a row. The delta has the size of a row and is copied. In a step that is repeated
// after a crash, rows that are there already are not added again. Deltas of a row are added up
// here: the servers get one delta per row and step.
func (t *Table) Inc(row uint32, delta []byte) error {
	if row >= t.rows || len(delta) != t.key.row {
		return usage("inc", t.key.key, "row %d and %d bytes, want a row below %d and %d bytes", row,
			len(delta), t.rows, t.key.row)
	}
	shard := t.key.slices[row/t.per].shard
	if t.ts.clock < t.ts.ticks[shard] {
		return nil
	}
	if sum, ok := t.log[row]; ok {
		ps.Plain{}.Add(sum, delta, t.key.dtype, 0)
		return nil
	}
	if t.ts.steps[shard] += t.key.row + 2*wire.RowsHead; t.ts.steps[shard] > node.TickLimit {
		return usage("inc", t.key.key, "more than %d bytes on one shard without a Clock",
			node.TickLimit)
	}
	var sum []byte
	if n := len(t.spare); n > 0 {
		sum = t.spare[n-1]
		t.spare = t.spare[:n-1]
	} else {
		sum = make([]byte, t.key.row)
	}
	copy(sum, delta)
	t.log[row] = sum
	return nil
}

// BatchInc adds to several rows; deltas has one row after the other.
func (t *Table) BatchInc(rows []uint32, deltas []byte) error {
	if len(deltas) != len(rows)*t.key.row {
		return usage("inc", t.key.key, "%d bytes for %d rows of %d", len(deltas), len(rows),
			t.key.row)
	}
	for i, row := range rows {
		if err := t.Inc(row, deltas[i*t.key.row:(i+1)*t.key.row]); err != nil {
			return err
		}
	}
	return nil
}

// Get reads rows to out, one after the other. They contain all that this worker has added, and all
// that others had added by as many steps before this worker's as the staleness says. It ends at
// once, with identifier 0, when all rows are cached.
func (t *Table) Get(now ps.Time, rows []uint32, out []byte, deadline ps.Time) (uint64, error) {
	ts := t.ts
	if err := ts.usable("get", t.key.key); err != nil {
		return 0, err
	}
	if len(out) != len(rows)*t.key.row {
		return 0, usage("get", t.key.key, "room for %d bytes for %d rows of %d", len(out),
			len(rows), t.key.row)
	}
	for _, row := range rows {
		if row >= t.rows {
			return 0, usage("get", t.key.key, "row %d, want one below %d", row, t.rows)
		}
	}
	// Rows in the cache that are fresh enough are given at once; the others are asked for, block by
	// block.
	need := t.need()
	var c *call
	parts := map[uint32]*part{}
	for i, row := range rows {
		if hit, ok := t.cache[row]; ok && hit.clock >= need {
			t.give(out[i*t.key.row:], row, hit.data)
			continue
		}
		if c == nil {
			c = ts.newCall(now, "get", t.key.key, deadline)
		}
		block := row / t.per
		p := parts[block]
		if p == nil {
			sl := t.key.slices[block]
			p = ts.newPart(c, wire.TypePull, sl.shard)
			p.slice, p.flags, p.need, p.own, p.out, p.kept = sl, wire.FlagRows, need, ts.clock, out,
				true
			parts[block] = p
		}
		p.payload = binary.LittleEndian.AppendUint32(p.payload, row%t.per)
		p.index = append(p.index, uint32(i))
		if len(p.index) >= node.TickLimit/t.key.row {
			ts.ask(p) // full: other rows of the block go into another one
			delete(parts, block)
		}
	}
	if c == nil {
		return 0, nil
	}
	for _, block := range slices.Sorted(maps.Keys(parts)) {
		ts.ask(parts[block])
	}
	return c.id, nil
}

// need returns the clock that all workers must have ended before a row may be read, as the
// staleness says.
func (t *Table) need() uint64 {
	if s := uint64(t.bound); t.bound != Unbounded && t.ts.clock > s {
		return t.ts.clock - s
	}
	return 0
}

// give copies a row and adds this worker's deltas since its last Clock: a worker sees its own
// changes at once, though no server has them.
func (t *Table) give(out []byte, row uint32, data []byte) {
	out = out[:t.key.row]
	copy(out, data)
	if own, ok := t.log[row]; ok {
		ps.Plain{}.Add(out, own, t.key.dtype, 0)
	}
}

// arrivedRows takes in the answer to a Get. It reports false for an answer that cannot be used: the
// part waits on.
func (ts *tables) arrivedRows(p *part, m *wire.Message) bool {
	t := ts.byKey[p.slice.id.Key]
	// Rows that this worker has changed since are missing both in the answer and in the log.
	if p.own != ts.clock {
		// A Clock has left meanwhile, and the answer may lack its rows.
		p.own = ts.clock
		ts.sendAsk(p)
		return false
	}
	if len(m.Payload) != len(p.index)*t.key.row {
		ts.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch,
			"value with another number of rows")
		return false
	}
	for i, at := range p.index {
		row := uint32(p.slice.id.Slice)*t.per + binary.LittleEndian.Uint32(p.payload[4*i:])
		data := m.Payload[i*t.key.row : (i+1)*t.key.row]
		t.give(p.out[int(at)*t.key.row:], row, data)
		if t.limit > 0 {
			t.keep(row, data, m.Answer().Version)
		}
	}
	return true
}

// keep caches a row. A full cache is emptied: which rows are read next is not known.
func (t *Table) keep(row uint32, data []byte, clock uint64) {
	old, ok := t.cache[row]
	if !ok && len(t.cache) >= t.limit {
		clear(t.cache)
	}
	t.cache[row] = cached{data: append(old.data[:0], data...), clock: clock}
}

// endStep begins the call that Worker.Clock makes. The rows of the step leave first, then a tick to
// every shard, changed or not: servers count a worker's steps. Shards that have the step from an
// earlier process get none.
func (ts *tables) endStep(now ps.Time, deadline ps.Time) (uint64, error) {
	if err := ts.usable("clock", ps.NoKey); err != nil {
		return 0, err
	}
	c := ts.newCall(now, "clock", ps.NoKey, deadline)
	c.left = 1
	ts.clock++
	c.clock = ts.clock
	f := flush{ts: ts, call: c, parts: make([][]byte, len(ts.shards))}
	for _, key := range slices.Sorted(maps.Keys(ts.byKey)) {
		f.table(ts.byKey[key])
	}
	for i := range ts.shards {
		f.send(uint32(i))
		if ts.clock <= ts.ticks[i] {
			continue
		}
		p := ts.newPart(c, wire.TypeTick, uint32(i))
		p.clock, p.prio, p.kept = ts.clock, 127, true
		ts.ready(p)
	}
	clear(ts.steps)
	c.left--
	if c.left == 0 {
		ts.end(c, nil)
	}
	return c.id, nil
}

// rowsBatch is how many bytes of rows travel in one message: so many that no step can fill a
// window.
const rowsBatch = 1 << 20

// flush puts the rows of a step into messages.
type flush struct {
	ts    *tables
	call  *call
	parts [][]byte // by shard
}

// table takes the changed rows of a table, in their order, and adds them to the cached rows: the
// next Get finds them there, though the servers may not have them yet.
func (f *flush) table(t *Table) {
	rows := slices.Sorted(maps.Keys(t.log))
	for len(rows) > 0 {
		block := rows[0] / t.per
		sl := t.key.slices[block]
		n := 0
		for n < len(rows) && rows[n]/t.per == block && (n == 0 || n*t.key.row < rowsBatch) {
			n++
		}
		b := wire.AppendRows(f.parts[sl.shard], sl.id.Key, sl.id.Slice, n, t.key.row)
		for _, row := range rows[:n] {
			b = binary.LittleEndian.AppendUint32(b, row%t.per)
		}
		b = wire.Pad8(b)
		for _, row := range rows[:n] {
			delta := t.log[row]
			b = append(b, delta...)
			if hit, ok := t.cache[row]; ok {
				ps.Plain{}.Add(hit.data, delta, t.key.dtype, 0)
			}
			t.spare = append(t.spare, delta)
		}
		f.parts[sl.shard] = wire.Pad8(b)
		if len(b) >= rowsBatch {
			f.send(sl.shard)
		}
		rows = rows[n:]
	}
	clear(t.log)
}

// send pushes the rows that have been collected for a shard. They go before all other pushes that
// wait there: the step of every worker may wait for them.
func (f *flush) send(shard uint32) {
	b := f.parts[shard]
	if len(b) == 0 {
		return
	}
	f.parts[shard] = nil
	p := f.ts.newPart(f.call, wire.TypePush, shard)
	p.clock, p.flags, p.payload, p.prio, p.kept = f.ts.clock, wire.FlagRows, b, 127, true
	f.ts.ready(p)
}
