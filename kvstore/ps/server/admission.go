package server

import (
	"encoding/binary"
	"slices"

	"gomx/kvstore/wire"
)

// admission lets new incarnations of workers in, and tells them how far their predecessors were.
//
// A new incarnation numbers its pushes from 1. So all copies must forget the sequences of its
// predecessor at the same place of the log, before the first push of the new one (kindJoin).
type admission struct {
	*host
	*seat
	*replica
	*journal
	*ledger
	*questions
}

// joining reports whether an entry that lets a worker's incarnation in is in the log already. The
// view may name the incarnation several times before the entry is committed.
func (ad *admission) joining(rank int, inc uint32) bool {
	for i := ad.commit + 1; i <= ad.next; i++ {
		if le := ad.log.At(i); le != nil && le.kind == kindJoin && int(le.id.Key) == rank &&
			le.clock >= uint64(inc) {
			return true
		}
	}
	return false
}

// appendJoin lets a worker's new incarnation in. Where rounds may close without the worker nobody
// waits for it (total is 1) until it has said where it starts. One that takes a place that nobody
// had (total is 2) says where it starts with keys without rounds and with tables.
func (ad *admission) appendJoin(rank int, inc uint32, enters bool) {
	ad.receipt(rank).forget()
	le := ad.newEntry(kindJoin)
	le.head()
	le.id.Key, le.clock = uint32(rank), uint64(inc)
	switch {
	case ad.loose():
		le.total = joinAway
	case enters:
		le.total = joinEnters
	}
	ad.append(le)
}

// begin takes in where a worker starts: it has asked all shards how far they are, and starts behind
// the furthest, the same everywhere. Rounds before that do not wait for it: otherwise it would wait
// for rounds that others have not begun, and they for rounds that it has not. The answer comes when
// the start is committed, so that it survives the loss of the primary.
func (ad *admission) begin(m *wire.Message) {
	rk := &ad.ranks[m.From.Rank]
	if !rk.away {
		a := ad.me.Message(wire.TypeCursor)
		a.Flags, a.Shard, a.Epoch, a.Seq, a.Target = wire.FlagStart, ad.id, ad.epoch, m.Seq,
			m.Incarnation
		ad.me.Send(m.From, a, nil)
		return
	}
	// A repeated message finds the entry of the first one in the log and adds no second.
	for i := ad.commit + 1; i <= ad.next; i++ {
		if le := ad.log.At(i); le.kind == kindStart && le.id.Key == uint32(m.From.Rank) {
			ad.park(m, ad.behind()) // on its way to the backup
			return
		}
	}
	le := ad.newEntry(kindStart)
	le.head()
	le.id.Key, le.clock = uint32(m.From.Rank), uint64(m.Incarnation)
	at := m.StartPoint()
	for _, v := range [...]uint64{at.Round, at.Push, at.Step} {
		le.own = binary.LittleEndian.AppendUint64(le.own, v)
	}
	// The question waits before the entry is appended: a primary without a backup commits at once,
	// and the commit answers it.
	ad.park(m, ad.behind())
	ad.append(le)
}

// cursor tells a worker how far its pushes are committed: for each slice its clock, and the version
// of the value. The join is in the log before it is answered: pushes of the predecessor that are
// still under way find their incarnation replaced, so the clocks of the answer are final.
func (ad *admission) cursor(m *wire.Message) {
	rank := int(m.From.Rank)
	if rank >= len(ad.ranks) || ad.ranks[rank].incarnation != m.Incarnation {
		ad.park(m, ad.behind()) // its join is not committed yet
		return
	}
	if m.Flags&wire.FlagStart != 0 {
		ad.begin(m)
		return
	}
	c := wire.Cursor{Away: ad.ranks[rank].away}
	for _, e := range ad.order {
		// A key without rounds counts changes in its version. A worker compares versions with
		// clocks, and so is told the clock of the worker that has pushed most.
		version, clock := e.version, e.clocks[rank]
		switch {
		case e.direct:
			version = slices.Max(e.clocks)
		case !ad.loose():
			// Rounds before the worker came have closed without it: it begins with the next one.
			clock = max(clock, version)
		}
		c.Entries = append(c.Entries, wire.CursorEntry{
			Key: e.id.Key, Slice: e.id.Slice, Slices: e.slices, DType: uint8(e.dtype),
			Direct: e.direct, Table: e.table, Total: e.total,
			Clock: clock, Version: version,
		})
	}
	a := ad.me.Message(wire.TypeCursor)
	a.Shard, a.Epoch, a.Seq, a.Payload, a.Target = ad.id, ad.epoch, m.Seq, c.Append(nil),
		m.Incarnation
	ad.me.Send(m.From, a, nil)
}
