package worker

import (
	"maps"
	"slices"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// Table is a worker's view of a sparse key without rounds, to whose rows workers add: rows are read
// by Get, changed by Inc, and Clock ends a step. Deltas of a worker are kept back until Clock,
// added up per row, and leave as one push; Get sees them at once.
//
// Rows that have been read are kept as long as the staleness allows, up to CacheRows of them.
//
// A Table belongs to its worker, and to the goroutine that drives it.
type Table struct {
	ks    *keyset
	key   *workerKey
	log   map[uint64][]byte // sums of the deltas since the last Clock, by row
	bytes []int             // of the rows in log, by slice
	// bound is the number of clocks by which others may be behind in the rows of a Get, or
	// Unbounded: then a Get waits for nobody.
	bound int
	spare [][]byte // memory for deltas
}

// TableSpec is the description of a table.
type TableSpec struct {
	DType     dtype.Type
	Rows      uint32
	RowSize   int       // bytes of a row
	Init      rows.Init // of rows that nobody has changed
	CacheRows int       // rows that the worker keeps; 0: none, as where nobody waits for anybody
	// InStep makes a Get wait for all earlier steps of all workers, whatever Config.Staleness says.
	InStep bool
}

// table creates a table, or finds the one that another worker has created.
func (ks *keyset) table(now ps.Time, key uint32, spec TableSpec, deadline ps.Time,
) (*Table, uint64, error) {
	if err := ks.usable("table", key); err != nil {
		return nil, 0, err
	}
	sp := rows.Spec{Rows: uint64(spec.Rows), Row: spec.RowSize, DType: spec.DType, Init: spec.Init}
	switch {
	case ks.keys[key] != nil:
		return nil, 0, usage("table", key, "it exists already")
	case spec.RowSize > node.RowsLimit:
		return nil, 0, usage("table", key, "rows of %d bytes, want at most %d", spec.RowSize,
			node.RowsLimit)
	}
	t := &Table{ks: ks, log: map[uint64][]byte{}, bound: ks.cfg.Staleness}
	if spec.InStep {
		t.bound = 0
	}
	if t.bound == Unbounded {
		// A row that is kept would never be too old: this worker would never see the changes that
		// others make after its first read.
		spec.CacheRows = 0
	}
	id, err := ks.createRows(now, key, KeySpec{Direct: true, Sparse: &sp,
		CacheRows: spec.CacheRows},
		nil, t, deadline)
	if err != nil {
		return nil, 0, err
	}
	return t, id, nil
}

// Inc adds to a row. The delta has the size of a row and is copied. In a step that is repeated
// after a crash, rows that are there already are not added again. Deltas of a row are added up
// here: the servers get one delta per row and step.
func (t *Table) Inc(row uint32, delta []byte) error {
	sp, id := t.key.sparse, uint64(row)
	if id >= sp.Rows || len(delta) != sp.Row {
		return usage("inc", t.key.key, "row %d and %d bytes, want a row below %d and %d bytes", row,
			len(delta), sp.Rows, sp.Row)
	}
	i := id % uint64(len(t.key.slices))
	if t.ks.clock < t.key.slices[i].old {
		return nil
	}
	if sum, ok := t.log[id]; ok {
		ps.Plain{}.Add(sum, delta, t.key.dtype, 0)
		return nil
	}
	if t.bytes[i]+sp.Row > node.RowsLimit {
		return usage("inc", t.key.key, "more than %d bytes on one shard without a Clock",
			node.RowsLimit)
	}
	t.bytes[i] += sp.Row
	var sum []byte
	if n := len(t.spare); n > 0 {
		sum = t.spare[n-1]
		t.spare = t.spare[:n-1]
	} else {
		sum = make([]byte, sp.Row)
	}
	copy(sum, delta)
	t.log[id] = sum
	return nil
}

// BatchInc adds to several rows; deltas has one row after the other.
func (t *Table) BatchInc(rows []uint32, deltas []byte) error {
	size := t.key.sparse.Row
	if len(deltas) != len(rows)*size {
		return usage("inc", t.key.key, "%d bytes for %d rows of %d", len(deltas), len(rows), size)
	}
	for i, row := range rows {
		if err := t.Inc(row, deltas[i*size:(i+1)*size]); err != nil {
			return err
		}
	}
	return nil
}

// Get reads rows to out, one after the other. They contain all that this worker has added, and all
// that others had added by as many steps before this worker's as the staleness says. It ends at
// once, with identifier 0, when all rows are cached.
func (t *Table) Get(now ps.Time, rows []uint32, out []byte, deadline ps.Time) (uint64, error) {
	if err := t.ks.usable("get", t.key.key); err != nil {
		return 0, err
	}
	if size := t.key.sparse.Row; len(out) != len(rows)*size {
		return 0, usage("get", t.key.key, "room for %d bytes for %d rows of %d", len(out),
			len(rows),
			size)
	}
	r := reading{ks: t.ks, key: t.key, out: out}
	for i, row := range rows {
		if uint64(row) >= t.key.sparse.Rows {
			return 0, usage("get", t.key.key, "row %d, want one below %d", row, t.key.sparse.Rows)
		}
		r.add(uint64(row), uint32(i))
	}
	r.sort()
	return r.begin(now, "get", 0, deadline)
}

// give copies a row and adds this worker's deltas since its last Clock: a worker sees its own
// changes at once, though no server has them.
func (t *Table) give(out []byte, row uint64, data []byte) {
	copy(out, data)
	if own, ok := t.log[row]; ok {
		ps.Plain{}.Add(out, own, t.key.dtype, 0)
	}
}

// endStep begins the call that Worker.Clock makes. Every table pushes the rows of the step to each
// of its shards, also where there are none: servers count a worker's steps by its pushes. Shards
// that have the step from an earlier process get none. The pushes go before all others that wait:
// the step of every worker may wait for them.
func (ks *keyset) endStep(now ps.Time, deadline ps.Time) (uint64, error) {
	if err := ks.usable("clock", ps.NoKey); err != nil {
		return 0, err
	}
	c := ks.newCall(now, "clock", ps.NoKey, deadline)
	c.left = 1
	if len(ks.byKey) > 0 {
		ks.clock++
	}
	c.clock = ks.clock
	for _, key := range slices.Sorted(maps.Keys(ks.byKey)) {
		t := ks.byKey[key]
		for i, b := range t.flush() {
			sl := t.key.slices[i]
			if sl.clock = max(sl.clock, ks.clock); ks.clock <= sl.old {
				continue
			}
			p := ks.newPart(c, wire.TypePush, sl.shard)
			p.slice, p.clock, p.payload, p.prio, p.kept = sl, ks.clock, b, 127, true
			ks.enqueue(p)
		}
	}
	c.left--
	if c.left == 0 {
		ks.end(c, nil)
	}
	return c.id, nil
}

// flush returns the rows of the step as lists, one for each slice, and adds them to the cached
// rows: the next Get finds them there, though the servers may not have them yet.
func (t *Table) flush() [][]byte {
	ids := slices.Sorted(maps.Keys(t.log))
	lists := t.key.lists(ids, t.key.sparse.Row)
	for _, id := range ids {
		delta, i := t.log[id], id%uint64(len(lists))
		lists[i] = append(lists[i], delta...)
		if hit, ok := t.key.sparse.cache.rows[id]; ok {
			ps.Plain{}.Add(hit.data, delta, t.key.dtype, 0)
		}
		t.spare = append(t.spare, delta)
	}
	clear(t.log)
	clear(t.bytes)
	return lists
}
