package server

import (
	"encoding/binary"

	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// replica is the replicated state of one copy of a shard. It is changed by apply alone, in the
// order of the log, and by the parts of a transfer or snapshot: all copies go through the same
// states.
//
// Invariants:
//  1. Copies with the same commit have the same entries in the same order, ranks and spec, to the
//     bit. Nothing that depends on timing, addresses or the order of a map may get in here.
//  2. order lists the entries of the map entries, each once.
//  3. At most one of blank and rebuilding is set, and neither on a primary.
type replica struct {
	*host
	*seat
	entries map[ps.ID]*entry
	// the same entries in the order of their creation, which is the order of the log: a loop that
	// goes through all entries does so in the same order on all copies
	order []*entry
	// knowledge of each worker's pushes, by rank
	ranks []rankState
	// index of the last entry of the log that was applied
	commit uint64
	// the optimizer, and the version by which repeated requests are told from new ones
	spec    wire.Spec
	updater Updater // of this copy alone

	blank      bool // a transfer of the state has to begin
	rebuilding bool // a transfer has begun and not ended
	restoring  bool // a snapshot is being read: its optimizer counts as an old one
}

// newReplica returns an empty copy of a shard.
func newReplica(h *host, at *seat) replica {
	rp := replica{host: h, seat: at, entries: map[ps.ID]*entry{}, updater: Updater(noUpdater{})}
	if h.cfg.Updater != nil {
		rp.updater = h.cfg.Updater(at.id)
	}
	rp.grow(h.cfg.Workers)
	return rp
}

// maxRanks bounds the ranks of workers.
const maxRanks = 1 << 16

// grow makes room for the knowledge of so many workers. A place is added at the same index of the
// log on all copies, or with a part of the state that has it.
func (rp *replica) grow(n int) {
	if n <= len(rp.ranks) {
		return
	}
	for len(rp.ranks) < n {
		rp.ranks = append(rp.ranks, *newRankState(rp.cfg.Window))
	}
	for _, e := range rp.order {
		e.grow(n)
	}
}

// apply changes the replicated state by one entry of the log. It is the only function that does, on
// all copies.
//
// The head of an entry lists the pushes in it. Their sequences are marked here, and their values
// are added, in one reaction: a copy that has a push's values knows its sequence, whichever server
// leads next. Sequences of an earlier incarnation are not marked, for the numbers of a new one
// begin at 1; clocks count for the place, whichever process held it.
func (rp *replica) apply(le *logEntry) {
	rp.stats.Entries++
	body, err := wire.DecodeEntry(le.body())
	if err != nil {
		panic("ps: log entry without a head: " + err.Error())
	}
	e := le.entry
	if e != nil {
		e.sparse.Forget()
	}
	for i := range body.Len() {
		c := body.At(i)
		rp.grow(int(c.Rank) + 1) // only while the copy is being made
		rk := &rp.ranks[c.Rank]
		if c.Incarnation == rk.incarnation {
			rk.mark(c.Seq, c.Outcome)
		}
		if e != nil {
			e.clocks[c.Rank] = max(e.clocks[c.Rank], le.clock)
		}
	}
	switch le.kind {
	case kindInit:
		rp.create(le, body.Payload)
	case kindRound:
		rp.applyRound(le, body.Len(), body.Payload)
	case kindDirect:
		rp.applyDirect(le, body.Payload)
	case kindJoin:
		rp.applyJoin(le)
	case kindStart:
		rp.applyStart(le, body.Payload)
	case kindSpec:
		rp.applySpec(body.Payload)
	}
}

// applyRound makes the sum the new value, or lets the optimizer make it. The value before is kept
// for workers that repeat the round: they want to see the same value as the first time. Neither is
// copied: the buffer of the sum becomes the value.
func (rp *replica) applyRound(le *logEntry, contributors int, sum []byte) {
	e := le.entry
	if e.sparse != nil {
		e.version = le.clock
		e.closed = max(e.closed, le.clock)
		rp.applySparse(e, contributors, sum)
		return
	}
	e.prev.release()
	e.prev = e.value
	e.version = le.clock
	e.closed = max(e.closed, le.clock)
	if !rp.updater.Active() {
		e.value = le.buf.hold()
		return
	}
	e.value = e.pool.get()
	rp.updater.Update(Update{
		ID: e.id, DType: e.dtype, Dst: e.value.data(), Value: e.prev.data(), Grad: sum,
		Contributors: contributors, Count: rp.cfg.Workers, Version: e.version,
	})
}

// applyDirect applies one push: the optimizer takes it as a gradient, otherwise it is added to the
// value. Messages under way may still read the value, so writable makes a copy then.
func (rp *replica) applyDirect(le *logEntry, payload []byte) {
	e := le.entry
	e.version++
	if e.sparse != nil {
		rp.applySparse(e, 1, e.sparse.Plain(payload, le.codec, rp.cfg.Arithmetic))
		return
	}
	value := e.writable()
	switch {
	case !rp.updater.Active():
		rp.cfg.Arithmetic.Add(value, payload, e.dtype, le.codec)
	default:
		grad := payload
		if le.codec != 0 {
			b := e.pool.get()
			defer b.release()
			grad = b.data()
			rp.cfg.Arithmetic.Store(grad, payload, e.dtype, le.codec)
		}
		rp.updater.Update(Update{
			ID: e.id, DType: e.dtype, Dst: value, Value: value, Grad: grad,
			Contributors: 1, Count: rp.cfg.Workers, Version: e.version,
		})
	}
}

// applyJoin begins the sequences of a worker's new incarnation. When rounds may close without it,
// nobody waits for it until it has said where it starts.
func (rp *replica) applyJoin(le *logEntry) {
	rank := int(le.id.Key)
	rp.grow(rank + 1)
	rk := &rp.ranks[rank]
	// A late entry for an earlier incarnation must not take back the later one's sequences.
	if inc := uint32(le.clock); inc > rk.incarnation {
		rk.join(inc)
	}
	if le.total == 0 {
		return
	}
	rk.away = true
	for _, e := range rp.order {
		if e.starts[rank] = never; le.total == joinEnters && !e.direct {
			e.starts[rank] = 0
		}
	}
}

// applyStart says where a worker starts: behind a round, behind a push of keys without rounds, and
// behind a step of tables.
func (rp *replica) applyStart(le *logEntry, payload []byte) {
	rank := int(le.id.Key)
	rp.grow(rank + 1)
	rk := &rp.ranks[rank]
	if rk.incarnation != uint32(le.clock) || len(payload) != 24 {
		return
	}
	clock := binary.LittleEndian.Uint64(payload)
	direct := binary.LittleEndian.Uint64(payload[8:])
	step := binary.LittleEndian.Uint64(payload[16:])
	rk.away = false
	for _, e := range rp.order {
		switch {
		case e.table:
			e.starts[rank], e.clocks[rank] = step, max(e.clocks[rank], step)
		case e.direct:
			e.starts[rank], e.clocks[rank] = direct, max(e.clocks[rank], direct)
		case e.starts[rank] == never:
			e.starts[rank], e.clocks[rank] = clock, max(e.clocks[rank], clock)
		}
	}
}

// applySpec sets the optimizer.
func (rp *replica) applySpec(payload []byte) {
	spec, err := wire.DecodeSpec(payload)
	if err != nil || spec.Version <= rp.spec.Version {
		return
	}
	states := spec.Rows
	spec.Rows = nil
	rp.spec = spec
	err = rp.updater.SetSpec(spec)
	if err == nil {
		err = rp.importRows(wire.SourceOf(states))
	}
	if err != nil {
		rp.me.Out.Report(ps.EventRefused, rp.me.Self, rp.id, rp.epoch, "optimizer: "+err.Error())
	}
}

// importRows gives rows the states that have come with an optimizer. Rows of other shards, and of
// entries whose part of a transfer comes later, are left out.
func (rp *replica) importRows(from *wire.Source) error {
	for from.Left() > 0 {
		st, err := rows.ReadStates(from)
		if err != nil {
			return err
		}
		if e := rp.entries[st.ID]; e != nil && e.sparse != nil {
			if err := e.sparse.Store.Import(&st); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes an entry. A second creation changes nothing.
func (rp *replica) create(le *logEntry, value []byte) {
	if rp.entries[le.id] != nil {
		return
	}
	e := &entry{id: le.id, since: le.index, traits: traits{slices: le.slices,
		dtype: dtype.Type(int8(le.dtype)), total: le.total, direct: le.direct}}
	lo, hi := wire.Range(le.total, le.id.Slice, le.slices)
	e.size = int(hi - lo)
	if le.sparse {
		spec, first, err := rows.DecodeSpec(e.id, e.slices, e.dtype, value)
		if err != nil {
			panic("ps: rows of a new key: " + err.Error()) // initSize has checked them
		}
		e.size, e.sparse, e.table, value = 0, rows.NewPart(spec, first), le.table, nil
	}
	rp.addSlice(e)
	clear(e.value.data())
	copy(e.value.data(), value)
	if !e.table {
		return
	}
	for r := range e.clocks { // all workers make it in the same step
		e.clocks[r] = le.clock
		if rp.ranks[r].away {
			e.starts[r] = never
		}
	}
}

// addSlice adds an entry with room for its value.
func (rp *replica) addSlice(e *entry) {
	e.pool = &pool{mem: &rp.mem, head: wire.EntrySize(len(rp.ranks)), size: e.size}
	e.grow(len(rp.ranks))
	e.value = e.pool.get()
	rp.mem.slices += uint64(e.size)
	rp.entries[e.id] = e
	rp.order = append(rp.order, e)
}

// due reports whether copies are compared after a log entry: every CheckEvery entries. Both copies
// count by the index, and so compare after the same entries.
func (rp *replica) due(le *logEntry) bool {
	return le.index%rp.cfg.CheckEvery == 0 && !rp.rebuilding
}

// concerned returns the entry that a log entry has changed, nil when it is none.
func (rp *replica) concerned(le *logEntry) *entry {
	if le.kind == kindInit {
		return rp.entries[le.id]
	}
	return le.entry
}

// rankState is a shard's knowledge of one worker's pushes. It is replicated.
//
// Sequences up to low are in the log; of the window behind low a ring of bits tells which are.
// Pushes are taken in in the order of their sequences, but rounds are committed in the order in
// which they close, so that commits have gaps.
//
// Invariants:
//  1. The bit of low+1 is not set: low would have moved on.
//  2. Bits are set for sequences within the window behind low only. The bit of a sequence is at its
//     number modulo the window, so moving low on frees its bit for a sequence of the next turn.
type rankState struct {
	incarnation uint32 // of the process whose sequences these are; 0: none has joined
	low         uint64 // all sequences up to low are in the log
	bits        []uint64
	// outcomes of the sequences around low, 2 bits each, for workers that ask again: a ring of
	// twice the window, because a worker may ask about a whole window of sequences at or below low
	fates []uint64
	away  bool // has joined and not said where it starts
}

// newRankState returns the knowledge of a worker that nobody has heard of.
func newRankState(window int) *rankState {
	return &rankState{bits: make([]uint64, window/64), fates: make([]uint64, 2*window/32)}
}

// has reports whether a sequence is in the log.
func (r *rankState) has(seq uint64) bool {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low {
		return true
	}
	return seq-r.low <= n && r.bits[seq/64%uint64(len(r.bits))]&(1<<(seq%64)) != 0
}

// outcome returns the outcome of a sequence that is in the log.
func (r *rankState) outcome(seq uint64) wire.Outcome {
	return wire.Outcome(r.fates[seq/32%uint64(len(r.fates))]>>(seq%32*2)&3) + wire.Applied
}

// mark records that a sequence is in the log.
func (r *rankState) mark(seq uint64, o wire.Outcome) {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low || seq-r.low > n {
		return
	}
	word := &r.fates[seq/32%uint64(len(r.fates))]
	*word = *word&^(3<<(seq%32*2)) | uint64(o-wire.Applied)<<(seq%32*2)
	r.bits[seq/64%uint64(len(r.bits))] |= 1 << (seq % 64)
	for {
		s := r.low + 1
		word := &r.bits[s/64%uint64(len(r.bits))]
		if *word&(1<<(s%64)) == 0 {
			return
		}
		*word &^= 1 << (s % 64)
		r.low = s
	}
}

// join makes room for a new incarnation of the worker, whose sequences begin at 1.
func (r *rankState) join(incarnation uint32) {
	r.incarnation, r.low = incarnation, 0
	clear(r.bits)
	clear(r.fates)
}
