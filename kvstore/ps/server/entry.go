package server

import (
	"gomx/dtype"
	"gomx/kvstore/ps"
)

// form is the shape of a slice of a key.
type form struct {
	slices uint16 // of the key
	dtype  dtype.Type
	direct bool   // pushes are applied one by one
	total  uint64 // bytes of the key; of a row when the slice is a block of a table
	size   int    // bytes of the slice
	row    int    // bytes of a row; 0 when the key is no table
}

// entry is one slice of a key. Its version is at most closed; rounds exist above version only.
type entry struct {
	id ps.ID
	form
	pool    *pool   // of buffers for values and sums
	value   *buffer // owned, as is prev
	prev    *buffer // the version before; nil: it is not kept
	version uint64
	clocks  []uint64 // last committed push of each rank
	// rounds up to here do not wait for a rank; never while it has not said where it starts
	starts []uint64
	since  uint64 // index of the log entry that created it

	// Of a primary.
	closed uint64   // last round in the log
	rounds []*round // above version, in order
	parked []parked // pulls that wait for a later version
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

// open returns the round with a clock, if it has begun.
func (e *entry) open(clock uint64) *round {
	for _, rd := range e.rounds {
		if rd.clock == clock {
			return rd
		}
	}
	return nil
}

// never is the start of a worker that has not said where it starts.
const never = 1<<64 - 1

// close releases the buffers of an entry that is given up.
func (e *entry) close(rs *rounds) {
	for _, rd := range e.rounds {
		rs.freeRound(rd)
	}
	e.rounds = nil
	e.value.release()
	e.prev.release()
	e.value, e.prev = nil, nil
	e.pool.mem.slices -= uint64(e.size)
	e.pool.close()
}

// writable returns the value's memory for a change in place, or a copy if somebody still reads it.
func (e *entry) writable() []byte {
	if e.value.refs > 1 {
		b := e.pool.get()
		copy(b.data(), e.value.data())
		e.value.release()
		e.value = b
	}
	return e.value.data()
}

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

// insert keeps rounds in order.
func (e *entry) insert(rd *round) {
	e.rounds = append(e.rounds, rd)
	for i := len(e.rounds) - 1; i > 0 && e.rounds[i-1].clock > rd.clock; i-- {
		e.rounds[i], e.rounds[i-1] = e.rounds[i-1], e.rounds[i]
	}
}
