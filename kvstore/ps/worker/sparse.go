package worker

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// Rows of sparse keys.
//
// A sparse key is a matrix of which servers hold the rows that somebody has pushed. It has a slice
// on every shard, and row r is in slice r modulo their number: rows that are used together, and
// rows that are used often, are spread over all servers. A push goes to all slices, because rounds
// count pushes; to most of them, in a small push, without a row.

// sparseKey is the rows of a sparse key as its worker knows them.
type sparseKey struct {
	rows.Spec
	first []uint64          // rows that Init gives values
	cache map[uint64]cached // rows that have been read, in stores with a bounded staleness
	limit int               // rows in cache
}

// RowsPull is a pull of rows of a sparse key.
type RowsPull struct {
	Key      uint32
	IDs      []uint64 // of the rows, in ascending order, none twice
	Out      []byte   // room for them, one after the other
	Priority int8     // higher goes first
	Deadline ps.Time  // 0: Config.Timeout from now
}

// PullRows copies rows of a sparse key to Out, with the words of Worker.Pull: they contain what this
// worker has pushed before. A row that nobody has pushed has its first value. Within a bounded
// staleness rows that have been pulled before are not asked for again. The call ends at once, with
// identifier 0, when all rows are at hand.
func PullRows(w *Worker, now ps.Time, op RowsPull) (uint64, error) { return w.pullRows(now, op) }

// createRows is create for a sparse key.
func (ks *keyset) createRows(now ps.Time, key uint32, spec KeySpec, value []byte, deadline ps.Time,
) (uint64, error) {
	sp := &sparseKey{Spec: *spec.Sparse, first: spec.First, cache: map[uint64]cached{},
		limit: spec.CacheRows}
	sp.Key, sp.Part, sp.Parts = key, 0, len(ks.shards)
	if err := sp.Check(); err != nil {
		return 0, usage("init", key, "%v", err)
	}
	k := &workerKey{key: key, dtype: sp.DType, total: sp.Rows * uint64(sp.Spec.Row),
		direct: spec.Direct, sparse: sp}
	// The rows that the key begins with travel with its description, from one worker alone; the
	// others describe the rows too, so that a server can refuse a program that differs.
	codes := make([][]byte, len(ks.shards))
	if ks.lowest() && len(sp.first) > 0 {
		var err error
		if codes, err = k.encode("init", sp.first, value, node.MaxSlice); err != nil {
			return 0, err
		}
	}
	for i := range ks.shards {
		k.slices = append(k.slices, ks.newSlice(k, uint16(i), 0, 0))
	}
	if err := ks.addKey(k); err != nil {
		return 0, err
	}
	c := ks.newCall(now, "init", key, deadline)
	for i, sl := range k.slices {
		p := ks.newPart(c, wire.TypeInit, sl.shard)
		p.slice, p.flags, p.kept = sl, wire.FlagSparse, true
		p.payload = append(rows.AppendSpec(nil, sp.Spec), codes[i]...)
		if spec.Direct {
			p.flags |= wire.FlagDirect
		}
		if ks.lowest() {
			p.flags |= wire.FlagCreate
		}
		ks.ask(p)
	}
	return c.id, nil
}

// encode puts rows into lists, one for each slice. The lists have memory of their own.
func (k *workerKey) encode(what string, ids []uint64, values []byte, most int) ([][]byte, error) {
	row, n := k.sparse.Spec.Row, uint64(k.sparse.Parts)
	if len(values) != len(ids)*row {
		return nil, usage(what, k.key, "%d bytes for %d rows of %d", len(values), len(ids), row)
	}
	if err := k.sparse.ascend(ids); err != nil {
		return nil, usage(what, k.key, "%v", err)
	}
	// A row keeps its order among the rows of its slice, so that the lists ascend too.
	local := make([][]uint32, n)
	for _, id := range ids {
		local[id%n] = append(local[id%n], uint32(id/n))
	}
	codes := make([][]byte, n)
	for i, list := range local {
		room := make([]byte, 0, 16+(5+row)*len(list))
		codes[i] = wire.AppendIDs(room, list)
		if len(codes[i])+row*len(list) > most {
			return nil, usage(what, k.key, "%d rows of %d bytes in one slice, want at most %d bytes",
				len(list), row, most)
		}
	}
	for i, id := range ids {
		codes[id%n] = append(codes[id%n], values[i*row:(i+1)*row]...)
	}
	return codes, nil
}

// ascend checks a list of rows.
func (sp *sparseKey) ascend(ids []uint64) error {
	for i, id := range ids {
		if id >= sp.Rows || i > 0 && id <= ids[i-1] {
			return fmt.Errorf("row %d at position %d, want ascending rows below %d", id, i, sp.Rows)
		}
	}
	return nil
}

// encodePush encodes a push of rows, which must be read again after it: the worker does not know
// what the servers make of its gradient.
func (ks *keyset) encodePush(k *workerKey, op *PushOp) (err error) {
	if op.Out != nil || op.Codes != nil {
		return usage("push", k.key, "a sparse key is pushed as rows, and pulled on its own")
	}
	// The sum of a round must fit into a message of the log: so each worker has its share of one.
	op.Codes, err = k.encode("push", op.IDs, op.Value, node.MaxSlice/max(1, ks.cfg.Workers))
	if err != nil {
		return err
	}
	for _, id := range op.IDs {
		delete(k.sparse.cache, id)
	}
	return nil
}

// pullRows begins the call that PullRows makes.
func (ks *keyset) pullRows(now ps.Time, op RowsPull) (uint64, error) {
	k := ks.keys[op.Key]
	if err := ks.usable("pull", op.Key); err != nil {
		return 0, err
	}
	if k == nil || k.sparse == nil {
		return 0, usage("pull", op.Key, "it has not been initialized with rows")
	}
	row, n := k.sparse.Spec.Row, uint64(len(k.slices))
	if len(op.Out) != len(op.IDs)*row {
		return 0, usage("pull", op.Key, "room for %d bytes for %d rows of %d", len(op.Out),
			len(op.IDs), row)
	}
	if err := k.sparse.ascend(op.IDs); err != nil {
		return 0, usage("pull", op.Key, "%v", err)
	}
	// Rows in the cache that are fresh enough are given at once; the others are asked for, slice by
	// slice.
	wanted, index := make([][]uint32, n), make([][]uint32, n)
	var ask part // for the versions that a pull needs now
	for i, id := range op.IDs {
		if len(k.sparse.cache) > 0 {
			ask.demand, ask.slice = demand{}, k.slices[id%n]
			ks.want(&ask)
			if hit, ok := k.sparse.cache[id]; ok && hit.clock >= ask.need {
				copy(op.Out[i*row:], hit.data)
				continue
			}
		}
		wanted[id%n], index[id%n] = append(wanted[id%n], uint32(id/n)), append(index[id%n], uint32(i))
	}
	for _, list := range wanted {
		if len(list)*row > node.MaxSlice {
			return 0, usage("pull", op.Key, "%d rows of %d bytes of one slice, want at most %d bytes",
				len(list), row, node.MaxSlice)
		}
	}
	var c *call
	var parts []*part
	for i, sl := range k.slices {
		if len(wanted[i]) == 0 {
			continue
		}
		if c == nil {
			c = ks.newCall(now, "pull", op.Key, op.Deadline)
		}
		p := ks.newPart(c, wire.TypePull, sl.shard)
		p.slice, p.flags, p.prio, p.out, p.kept = sl, wire.FlagRows, op.Priority, op.Out, true
		p.index = append(p.index, index[i]...)
		p.payload = wire.AppendIDs(p.payload, wanted[i])
		ks.want(p)
		parts = append(parts, p)
	}
	if c == nil {
		return 0, nil
	}
	// The call has all its parts before the first of them may end.
	for _, p := range parts {
		ks.ask(p)
	}
	return c.id, nil
}

// arrivedSparse copies the rows of an answer to their places. It reports false for an answer that
// cannot be used.
func (ks *keyset) arrivedSparse(p *part, m *wire.Message) bool {
	k := p.slice.key
	// The answer has the rows of one slice; their places among the rows of the call are in index.
	row, n := k.sparse.Spec.Row, uint64(len(k.slices))
	if len(m.Payload) != len(p.index)*row {
		ks.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch,
			"value with another number of rows")
		return false
	}
	// A row is kept if this worker has pushed nothing since it asked, and the staleness has a bound.
	keep := k.sparse.limit > 0 && k.direct && ks.cfg.Staleness != Unbounded && p.own == p.slice.clock
	s, err := wire.DecodeSparse(p.payload, 0, k.sparse.Len())
	if err != nil || s.N != len(p.index) {
		panic(fmt.Sprintf("ps: list of wanted rows: %v", err))
	}
	for i, local := range s.IDs(nil) {
		data := m.Payload[i*row : (i+1)*row]
		copy(p.out[int(p.index[i])*row:], data)
		if !keep {
			continue
		}
		if len(k.sparse.cache) >= k.sparse.limit {
			clear(k.sparse.cache) // which rows are read next is not known
		}
		// rows of a slice are numbered anew: see rows.Spec
		id := uint64(local)*n + uint64(p.slice.id.Slice)
		k.sparse.cache[id] = cached{data: append([]byte(nil), data...), clock: m.Answer().Version}
	}
	return true
}
