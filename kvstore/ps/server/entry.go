package server

import (
	"gomx/dtype"
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// traits are the properties of a slice of a key. They are fixed when the slice is created.
type traits struct {
	slices uint16 // number of slices of the key
	dtype  dtype.Type
	direct bool   // pushes are applied one by one, not in rounds
	table  bool   // a sparse key to which pushes are added, whatever the optimizer
	total  uint64 // bytes of the key
	size   int    // bytes of the slice; of a sparse key 0
}

// entry is one slice of a key on one copy of its shard. The first fields are replicated; a primary
// has rounds and pulls beside them.
//
// Invariants:
//  1. version <= closed: a round is closed when it is in the log, and has its version when it is
//     committed.
//  2. rounds holds rounds above version only, sorted by clock.
//  3. value has size bytes. A buffer that messages refer to is never written (writable).
type entry struct {
	id ps.ID
	traits
	// buffers of size bytes, for values and sums of this entry
	pool *pool
	// the current value; the entry holds one reference to it, and one to prev
	value *buffer
	// the rows of a sparse key, whose value is empty otherwise; nil for other keys
	sparse *rows.Part
	// the value of the version before, for workers that repeat its round; nil: it is not kept
	prev *buffer
	// number of the last round that is in value; of an entry without rounds the number of
	// changes
	version uint64
	// last committed push of each rank
	clocks []uint64
	// rounds up to here do not wait for a rank; never while it has not said where it starts
	starts []uint64
	// index of the log entry that created it
	since uint64

	// The rest is of a primary, and is forgotten when another server takes over.

	// last round in the log
	closed uint64
	// rounds that have begun and are not committed
	rounds []*round
	// pulls that wait for a later version
	parked []parked
}

// clock returns the version that a puller may rely on: for rounds the last one applied, otherwise
// the lowest clock of the workers that count.
func (e *entry) clock(h *host) uint64 {
	if !e.direct {
		return e.version
	}
	low := uint64(1<<64 - 1)
	for r, c := range e.clocks {
		if h.counts(r) && e.starts[r] != never {
			low = min(low, c)
		}
	}
	if low == 1<<64-1 {
		return e.version
	}
	return low
}

// open returns the round with a clock, nil if it has not begun. Few rounds are open at a time
// (Config.Ahead), so they are looked through.
func (e *entry) open(clock uint64) *round {
	for _, rd := range e.rounds {
		if rd.clock == clock {
			return rd
		}
	}
	return nil
}

// grow makes room for pushes of so many workers: nobody waits for them in keys without rounds. Sums
// of open rounds need room in front of them for the head of a log entry that names all
// contributors.
func (e *entry) grow(n int) {
	if n <= len(e.clocks) {
		return
	}
	first := len(e.clocks) == 0
	for len(e.clocks) < n {
		start := uint64(0)
		if e.direct && !first {
			start = never
		}
		e.clocks, e.starts = append(e.clocks, 0), append(e.starts, start)
	}
	if head := wire.EntrySize(n); head > e.pool.head {
		old := e.pool
		e.pool = &pool{mem: old.mem, head: head, size: old.size}
		old.close()
	}
	for _, rd := range e.rounds {
		rd.have = append(rd.have, make([]contribution, n-len(rd.have))...)
		if rd.sum.head < e.pool.head {
			b := e.pool.get()
			copy(b.data(), rd.sum.data())
			rd.sum.release()
			rd.sum = b
		}
	}
}

// never is the start of a worker that has not said where it starts.
const never = 1<<64 - 1

// close releases the buffers of an entry that is given up.
func (e *entry) close(rs *rounds) {
	for _, rd := range e.rounds {
		rs.freeRound(rd)
	}
	e.rounds = nil
	e.sparse.Close()
	e.value.release()
	e.prev.release()
	e.value, e.prev = nil, nil
	e.pool.mem.slices -= uint64(e.size)
	e.pool.close()
}

// writable returns the value's memory for a change in place, or a copy if somebody still reads it:
// a message that is being sent must not change under the transport.
func (e *entry) writable() []byte {
	if e.value.refs > 1 {
		b := e.pool.get()
		copy(b.data(), e.value.data())
		e.value.release()
		e.value = b
	}
	return e.value.data()
}

// dense returns the value, of a sparse key made of all its rows.
func (e *entry) dense() []byte {
	if e.sparse == nil {
		return e.value.data()
	}
	return e.sparse.All()
}

// prevData returns the version before, nil if it is not kept. Keys without rounds have no repeated
// rounds, and so need none.
func (e *entry) prevData() []byte {
	if e.prev == nil || e.direct {
		return nil
	}
	return e.prev.data()
}

// furthest returns the last round that somebody has contributed to, 0 if there is none.
func (e *entry) furthest() uint64 {
	for i := len(e.rounds) - 1; i >= 0; i-- {
		if e.rounds[i].n > 0 {
			return e.rounds[i].clock
		}
	}
	return 0
}

// insert adds a round where its clock belongs: workers may be a round apart.
func (e *entry) insert(rd *round) {
	e.rounds = append(e.rounds, rd)
	for i := len(e.rounds) - 1; i > 0 && e.rounds[i-1].clock > rd.clock; i-- {
		e.rounds[i], e.rounds[i-1] = e.rounds[i-1], e.rounds[i]
	}
}
