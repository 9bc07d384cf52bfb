package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// pulls answers pulls, and keeps the ones that cannot be answered yet with their entry.
//
// A pull is answered when the value has a version that is high enough (need), and contains the
// pushes of the puller that it must contain (own). Only committed versions are shown.
type pulls struct {
	*host
	*seat
	*replica
	*journal
	*ledger
	parked  int     // pulls that wait
	waiting []int   // of them, by rank; ranks beyond have let none wait
	swept   ps.Time // when pulls and questions that wait are looked at next
}

// parked is a pull that waits. It is forgotten when its time is up: its worker repeats it, or is
// gone.
type parked struct {
	from  wire.Node
	inc   uint32  // incarnation of the worker
	seq   uint64  // name of the pull, or sequence of the push that it is fused with
	fused bool    // it came with a push
	exact bool    // refuse it when the version that it needs is gone
	need  uint64  // lowest version that answers it
	own   uint64  // last push of the worker that the value must contain
	until ps.Time // forgotten then, unless it is repeated
	entry *entry
	rows  []byte // numbers of the rows of a sparse key that are wanted
}

// pull answers a pull, or lets it wait. A worker that asks for an unknown key asks again: another
// one is about to create it.
func (pl *pulls) pull(m *wire.Message) {
	e := pl.entries[ps.ID{Key: m.Key, Slice: m.Slice}]
	if e == nil {
		pl.reject(m, wire.ReasonUnknownKey)
		return
	}
	if m.Flags&wire.FlagRows != 0 || e.sparse != nil {
		if err := checkWanted(e, m); err != nil {
			pl.refuse(m, err.Error())
			pl.reject(m, wire.ReasonShape)
			return
		}
	}
	pl.pullEntry(e, m)
}

// pullEntry answers a pull of a known entry, or lets it wait: a fused pull is the second half of a
// push. How many pulls of a worker wait has a bound, and so have the bytes of row numbers in them:
// memory here must not depend on the good will of a worker.
func (pl *pulls) pullEntry(e *entry, m *wire.Message) {
	p := parked{
		from: m.From, inc: m.Incarnation, seq: m.Seq, fused: m.Type == wire.TypePushPull,
		exact: m.Flags&wire.FlagExact != 0,
		need:  m.Need, own: m.Clock, until: pl.now + pl.me.Timing.Park, entry: e,
	}
	kept := 0
	for i := range e.parked {
		q := &e.parked[i]
		if q.from == p.from {
			kept += len(q.rows)
		}
		// A repeated pull replaces the one that waits: a worker has each of its pulls here once.
		if q.from == p.from && q.seq == p.seq && q.fused == p.fused {
			q.inc, q.until, q.need, q.own = p.inc, p.until, p.need, p.own
			pl.tellWaiting(m, pl.blamePull(q))
			return
		}
	}
	if e.sparse != nil {
		p.rows = m.Payload
	}
	if pl.answer(&p) {
		return
	}
	for len(pl.waiting) <= int(m.From.Rank) {
		pl.waiting = append(pl.waiting, 0)
	}
	if pl.waiting[m.From.Rank] >= 2*pl.cfg.Window || kept+len(p.rows) > node.RowsLimit {
		return // more than a worker has reason to: it will ask again
	}
	p.rows = append([]byte(nil), p.rows...)
	e.parked = append(e.parked, p)
	pl.parked++
	pl.waiting[m.From.Rank]++
}

// answer answers a pull if it can be answered now. A message refers to the value itself: the buffer
// is held until the transport has sent it.
func (pl *pulls) answer(p *parked) bool {
	e := p.entry
	clock := e.clock(pl.host)
	buf := e.value
	before := false
	switch {
	case clock < p.need || e.direct && e.clocks[p.from.Rank] < p.own:
		return false
	case e.direct || e.version == p.need:
	case e.version == p.need+1 && (e.prev != nil || e.sparse.Undoes()):
		// Others need not wait for this pull: the round after has closed, and the one that was
		// asked for is still here.
		clock, buf, before = p.need, e.prev, true
	case p.exact:
		pl.rejectParked(p, wire.ReasonGone)
		return true
	}
	m := pl.valueMessage(p, clock)
	m.DType, m.Total = uint8(e.dtype), e.total
	if e.sparse != nil {
		start := len(pl.temp)
		pl.temp = e.sparse.AppendRows(pl.temp, p.rows, before)
		m.Flags |= wire.FlagRows
		m.Payload = pl.temp[start:]
		pl.me.Send(p.from, m, nil)
		return true
	}
	m.Payload = buf.data()
	pl.me.Send(p.from, m, buf.lend())
	return true
}

// valueMessage returns the answer to a pull without its payload. It carries the receipt for pushes
// and the outcome of a push that it is fused with, so that a round trip needs no acknowledgement.
func (pl *pulls) valueMessage(p *parked, clock uint64) wire.Message {
	pl.stats.Pulls++
	m := pl.me.Message(wire.TypeValue)
	rc := pl.receipt(int(p.from.Rank))
	m.Shard, m.Epoch = pl.id, pl.epoch
	a := wire.Answer{Seq: p.seq, Version: clock, Received: rc.received, Fused: p.fused}
	rc.told, rc.bytes, rc.now = rc.received, 0, rc.now && rc.gap // the value has the receipt
	m.Key, m.Slice, m.Slices, m.Target = p.entry.id.Key, p.entry.id.Slice, p.entry.slices, p.inc
	if p.fused {
		rk := &pl.ranks[p.from.Rank]
		if p.inc == rk.incarnation && rk.has(p.seq) {
			a.Outcome = rk.outcome(p.seq)
		}
	}
	m.SetAnswer(a)
	return m
}

// rejectParked refuses a pull that has waited, or was about to.
func (pl *pulls) rejectParked(p *parked, why wire.Reason) {
	m := wire.Message{
		Type: wire.TypePull, Shard: pl.id, From: p.from, Incarnation: p.inc, Seq: p.seq,
		KeySlice: wire.KeySlice{Key: p.entry.id.Key, Slice: p.entry.id.Slice,
			Slices: p.entry.slices},
	}
	pl.reject(&m, why)
}

// unpark answers the pulls of an entry that can be answered now. Pulls of processes that have been
// replaced, and pulls that were not repeated, are dropped.
func (pl *pulls) unpark(e *entry) {
	kept := e.parked[:0]
	for i := range e.parked {
		p := &e.parked[i]
		if pl.me.View.Current(p.from, p.inc) && p.until > pl.now && !pl.answer(p) {
			kept = append(kept, *p)
			continue
		}
		pl.parked--
		pl.waiting[p.from.Rank]--
	}
	clear(e.parked[len(kept):])
	e.parked = kept
}
