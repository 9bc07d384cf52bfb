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
	first []uint64 // rows that Init gives values
	cache rowCache
	table *Table // whose key it is; nil: it is none
}

// RowsPull is a pull of rows of a sparse key.
type RowsPull struct {
	Key      uint32
	IDs      []uint64 // of the rows, in ascending order, none twice
	Out      []byte   // room for them, one after the other
	Priority int8     // higher goes first
	Deadline ps.Time  // 0: Config.Timeout from now
}

// PullRows copies rows of a sparse key to Out, with the words of Worker.Pull: they contain what
// this worker has pushed before. A row that nobody has pushed has its first value. Within a bounded
// staleness rows that have been pulled before are not asked for again. The call ends at once, with
// identifier 0, when all rows are at hand.
func PullRows(w *Worker, now ps.Time, op RowsPull) (uint64, error) { return w.pullRows(now, op) }

// createRows is create for a sparse key, of a table if there is one.
func (ks *keyset) createRows(now ps.Time, key uint32, spec KeySpec, value []byte, t *Table,
	deadline ps.Time) (uint64, error) {
	what := "init"
	if t != nil {
		what = "table"
	}
	sp := &sparseKey{Spec: *spec.Sparse, first: spec.First, table: t,
		cache: rowCache{map[uint64]cached{}, spec.CacheRows}}
	sp.Key, sp.Part, sp.Parts = key, 0, len(ks.shards)
	if err := sp.Check(); err != nil {
		return 0, usage(what, key, "%v", err)
	}
	k := &workerKey{key: key, dtype: sp.DType, total: sp.Rows * uint64(sp.Spec.Row),
		direct: spec.Direct, sparse: sp}
	// The rows that the key begins with travel with its description, from one worker alone; the
	// others describe the rows too, so that a server can refuse a program that differs.
	codes := make([][]byte, len(ks.shards))
	if ks.lowest() && len(sp.first) > 0 {
		var err error
		if codes, err = k.encode("init", sp.first, value, nil, node.MaxSlice); err != nil {
			return 0, err
		}
	}
	for i := range ks.shards {
		k.slices = append(k.slices, ks.newSlice(k, uint16(i), 0, 0))
	}
	if err := ks.addKey(k); err != nil {
		return 0, err
	}
	if t != nil {
		t.key, t.bytes = k, make([]int, len(k.slices))
		ks.byKey[key] = t
	}
	c := ks.newCall(now, what, key, deadline)
	for i, sl := range k.slices {
		p := ks.newPart(c, wire.TypeInit, sl.shard)
		p.slice, p.flags, p.kept = sl, wire.FlagSparse, true
		p.payload = append(rows.AppendSpec(nil, sp.Spec), codes[i]...)
		if spec.Direct {
			p.flags |= wire.FlagDirect
		}
		if t != nil {
			p.flags |= wire.FlagRows
			p.own = ks.clock
		}
		if ks.lowest() {
			p.flags |= wire.FlagCreate
		}
		ks.ask(p)
	}
	return c.id, nil
}

// encode puts rows into lists, one for each slice, with plain values or with the codes of the
// slices. The lists have memory of their own.
func (k *workerKey) encode(what string, ids []uint64, values []byte, codes [][]byte, most int,
) ([][]byte, error) {
	row, n := k.sparse.Spec.Row, uint64(k.sparse.Parts)
	if codes == nil && len(values) != len(ids)*row {
		return nil, usage(what, k.key, "%d bytes for %d rows of %d", len(values), len(ids), row)
	}
	if err := k.sparse.ascend(ids); err != nil {
		return nil, usage(what, k.key, "%v", err)
	}
	room := row
	if codes != nil {
		room = 0
	}
	lists := k.lists(ids, room)
	plain := make([]int, n) // bytes of a list with plain values
	for i := range lists {
		plain[i] = len(lists[i])
	}
	for i, id := range ids {
		plain[id%n] += row
		if codes == nil {
			lists[id%n] = append(lists[id%n], values[i*row:(i+1)*row]...)
		}
	}
	for i, bytes := range plain {
		if bytes > most {
			return nil, usage(what, k.key, "rows of %d bytes in one slice, want at most %d bytes", bytes,
				most)
		}
		if codes != nil {
			lists[i] = append(lists[i], codes[i]...)
		}
	}
	return lists, nil
}

// lists begins a list of its rows for each slice, with room for so many bytes of each row.
func (k *workerKey) lists(ids []uint64, room int) [][]byte {
	n := uint64(k.sparse.Parts)
	// A row keeps its order among the rows of its slice, so that the lists ascend too.
	local := make([][]uint32, n)
	for i, count := range k.sparse.counts(ids) {
		local[i] = make([]uint32, 0, count)
	}
	for _, id := range ids {
		local[id%n] = append(local[id%n], uint32(id/n))
	}
	lists := make([][]byte, n)
	for i, list := range local {
		lists[i] = wire.AppendIDs(make([]byte, 0, 16+(5+room)*len(list)), list)
	}
	return lists
}

// counts returns the number of rows in each slice.
func (sp *sparseKey) counts(ids []uint64) []int {
	n := uint64(sp.Parts)
	list := make([]int, n)
	for _, id := range ids {
		list[id%n]++
	}
	return list
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
	switch {
	case op.Out != nil:
		return usage("push", k.key, "a sparse key is pushed as rows, and pulled on its own")
	case op.Codec != 0 && len(op.Codes) != len(k.slices):
		return usage("push", k.key, "%d encoded slices, want %d", len(op.Codes), len(k.slices))
	}
	// The sum of a round must fit into a message of the log: so each worker has its share of one. The
	// group may have grown since the job began.
	most := node.MaxSlice
	if !k.direct {
		most /= max(1, ks.cfg.Workers, len(ks.me.View.Group.Ranks))
	}
	codes := op.Codes
	if op.Codec == 0 {
		codes = nil
	}
	op.Codes, err = k.encode("push", op.IDs, op.Value, codes, most)
	if err != nil {
		return err
	}
	for _, id := range op.IDs {
		delete(k.sparse.cache.rows, id)
	}
	return nil
}

// pullRows begins the call that PullRows makes.
func (ks *keyset) pullRows(now ps.Time, op RowsPull) (uint64, error) {
	k := ks.keys[op.Key]
	if err := ks.usable("pull", op.Key); err != nil {
		return 0, err
	}
	if k == nil || k.sparse == nil || k.sparse.table != nil {
		return 0, usage("pull", op.Key, "it has not been initialized with rows")
	}
	if row := k.sparse.Spec.Row; len(op.Out) != len(op.IDs)*row {
		return 0, usage("pull", op.Key, "room for %d bytes for %d rows of %d", len(op.Out),
			len(op.IDs), row)
	}
	if err := k.sparse.ascend(op.IDs); err != nil {
		return 0, usage("pull", op.Key, "%v", err)
	}
	r := reading{ks: ks, key: k, out: op.Out, wants: make([]wanted, 0, len(op.IDs))}
	for i, id := range op.IDs {
		r.add(id, uint32(i))
	}
	return r.begin(now, "pull", op.Priority, op.Deadline)
}

// wantRows sets the versions that a read of rows of a slice needs now.
func (ks *keyset) wantRows(p *part) {
	t := p.slice.key.sparse.table
	if t == nil {
		ks.want(p)
		return
	}
	// Tables count steps of the worker, which are the same for all of them.
	p.own = ks.clock
	if s := uint64(t.bound); t.bound != Unbounded && ks.clock > s {
		p.need = ks.clock - s
	}
}

// arrivedSparse copies the rows of an answer to their places. It reports false for an answer that
// cannot be used: the part waits on.
func (ks *keyset) arrivedSparse(p *part, m *wire.Message) bool {
	k := p.slice.key
	t := k.sparse.table
	if t != nil && p.own != ks.clock {
		// A Clock has left meanwhile: its rows are missing in the log, and perhaps in the answer.
		p.own = ks.clock
		ks.sendAsk(p)
		return false
	}
	s, err := wire.DecodeSparse(p.payload, 0, k.sparse.Len())
	if err != nil {
		panic(fmt.Sprintf("ps: list of wanted rows: %v", err))
	}
	row, n := k.sparse.Spec.Row, uint64(len(k.slices))
	if len(m.Payload) != s.N*row {
		ks.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch,
			"value with another number of rows")
		return false
	}
	// A row is kept if the staleness says when it is too old, and this worker has pushed nothing since
	// it asked. Of a table the worker knows what its pushes make of a row, and one without a bound has
	// no room for rows.
	keep := t != nil || k.direct && ks.cfg.Staleness != Unbounded && p.own == p.slice.clock
	at := p.index
	for i, local := range s.IDs(nil) {
		// rows of a slice are numbered anew: see rows.Spec
		id, data := uint64(local)*n+uint64(p.slice.id.Slice), m.Payload[i*row:(i+1)*row]
		for first := true; len(at) > 0 && (first || at[0]&again != 0); first = false {
			place := int(at[0]&^again) * row
			k.sparse.give(p.out[place:place+row], id, data)
			at = at[1:]
		}
		if keep {
			k.sparse.cache.keep(id, data, m.Answer().Version)
		}
	}
	return true
}

// give copies a row to its place.
func (sp *sparseKey) give(out []byte, id uint64, data []byte) {
	if sp.table != nil {
		sp.table.give(out, id, data)
		return
	}
	copy(out, data)
}
