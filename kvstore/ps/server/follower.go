package server

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// follower is the part of a copy that is a backup: it applies the log of the primary.
//
// It takes entries in the order of their indices only, and drops all others: the primary repeats
// from the first that is not acknowledged. An entry is applied at once, before the primary has
// committed it; this is safe because a backup answers no worker, and if it is promoted the entry
// counts.
//
// A copy that was the primary until a swap begins with a tail: entries of its own log that it had
// not committed. The mark of its successor (kindTurn) says how many of them the successor has.
type follower struct {
	*host
	*seat
	*replica
	*journal        // of a former primary
	tail     bool   // was the primary, and does not know yet how much of its log counts
	answer   bool   // owes the primary an acknowledgement
	checkAt  uint64 // index of the last comparison; 0: none
	checkSum uint32 // checksum of the state after that entry
}

// replicate takes in an entry of the primary's log. Acknowledgements are sent once for all messages
// that were handled together, for repeated entries too: their acknowledgement may have been lost.
func (f *follower) replicate(m *wire.Message) {
	at := m.LogPlace()
	if f.place.Third == f.host.replica() && at.Attempt != uint8(f.place.Attempt&127) {
		return // of the transfer to an earlier copy here, or to one that the view does not name yet
	}
	f.answer = true
	k := kind(at.Kind)
	if f.blank {
		// A copy without a state can follow no log: it waits for the beginning of a transfer, which
		// the primary repeats like any entry.
		if k != kindBegin {
			return
		}
		f.blank, f.rebuilding, f.commit = false, true, at.Index-1
	}
	if f.tail && !f.turned(m) {
		return
	}
	if at.Index != f.commit+1 {
		return
	}
	body, err := wire.DecodeEntry(m.Payload)
	if err == nil {
		err = f.checkEntry(m, &body)
	}
	if err != nil {
		f.refuse(m, err.Error())
		return
	}
	le := f.entryOf(m, &body)
	f.commit++
	switch {
	case (k == kindPart || k == kindEnd) && !f.rebuilding:
		// for another copy
	case k == kindPart || k == kindEnd:
		f.applyTransfer(k, body.Payload)
	case f.rebuilding && le.entry == nil && (k == kindRound || k == kindDirect || k == kindSkip):
		// The entry's part comes later and contains this.
	default:
		f.apply(le)
	}
	f.checkpoint(le)
	f.recycle(le)
}

// checkEntry refuses entries that no primary of this version sends, and that would be a danger to
// this process.
func (f *follower) checkEntry(m *wire.Message, body *wire.Entry) error {
	k := kind(m.LogPlace().Kind)
	if !k.known() {
		return fmt.Errorf("unknown kind %d", k)
	}
	for i := range body.Len() {
		if r := body.At(i).Rank; int(r) >= len(f.ranks) && !f.rebuilding {
			return fmt.Errorf("contributor of rank %d of %d", r, len(f.ranks))
		}
	}
	if k == kindJoin && m.Key >= maxRanks || k == kindStart && int(m.Key) >= len(f.ranks) &&
		!f.rebuilding {
		return fmt.Errorf("join of rank %d of %d", m.Key, len(f.ranks))
	}
	e := f.entries[ps.ID{Key: m.Key, Slice: m.Slice}]
	switch {
	case k == kindInit:
		im := *m
		im.Payload = body.Payload
		_, err := initSize(&im)
		return err
	case k != kindRound && k != kindDirect, e == nil && f.rebuilding:
		return nil
	case e == nil:
		return fmt.Errorf("key %d is not known", m.Key)
	case e.sparse != nil:
		return e.sparse.Check(body.Payload, m.Codec, f.cfg.Arithmetic, node.MaxSlice)
	case k == kindRound:
		return (ps.Plain{}).Check(body.Payload, e.size, e.dtype, 0)
	}
	return f.cfg.Arithmetic.Check(body.Payload, e.size, e.dtype, m.Codec)
}

// entryOf makes a log entry of a message, whose payload belongs to the transport. Sums are kept in
// memory that can become the value; parts of a transfer are read at once, and so are not copied.
func (f *follower) entryOf(m *wire.Message, body *wire.Entry) *logEntry {
	at := m.LogPlace()
	le := f.newEntry(kind(at.Kind))
	le.index, le.clock, le.id, le.slices = at.Index, at.Clock, ps.ID{Key: m.Key, Slice: m.Slice},
		m.Slices
	le.dtype, le.codec, le.total = m.DType, m.Codec, m.Total
	le.table, le.direct, le.n = m.Flags&wire.FlagRows != 0, m.Flags&wire.FlagDirect != 0, body.Len()
	le.sparse = m.Flags&wire.FlagSparse != 0
	if le.kind == kindRound || le.kind == kindDirect || le.kind == kindSkip {
		le.entry = f.entries[le.id]
	}
	switch {
	case le.entry != nil && le.entry.sparse == nil && (le.kind == kindRound ||
		le.kind == kindDirect &&
			len(body.Payload) == le.entry.size && le.n == 1):
		le.buf = le.entry.pool.get()
		copy(le.body(), m.Payload)
	case le.kind == kindPart || le.kind == kindEnd:
		le.head()
	default:
		le.own = append(le.own, m.Payload...)
	}
	return le
}

// applyTransfer takes over a part of a new copy's state. A damaged part leaves the copy incomplete
// and the entry without an acknowledgement, so that the primary gives the copy up.
func (f *follower) applyTransfer(k kind, payload []byte) {
	var err error
	if k == kindPart {
		err = f.setPart(wire.SourceOf(payload))
	} else {
		err = f.setHead(wire.SourceOf(payload))
		f.rebuilding = false
	}
	if err != nil {
		f.rebuilding = true // never complete: the primary will notice that it is never acknowledged
		f.commit--
		f.me.Out.Report(ps.EventDiverged, f.me.Self, f.id, f.epoch, err.Error())
	}
}

// answerPrimary acknowledges the entries that the backup has, and reports the checksum at the last
// index where copies are compared.
func (f *follower) answerPrimary() {
	m := f.me.Message(wire.TypeReplicated)
	m.Shard, m.Epoch = f.id, f.epoch
	m.SetLogReceipt(wire.LogReceipt{Index: f.commit, CheckAt: f.checkAt, Checksum: f.checkSum})
	f.me.Send(wire.Node{Role: wire.Server, Rank: f.place.Primary.Server}, m, nil)
}

// turned reports whether a former primary may take in a message of its successor's log. The mark
// makes it a backup like any other. Its index is within the tail or right behind it, for the
// successor had a part of the same log.
func (f *follower) turned(m *wire.Message) bool {
	at := m.LogPlace()
	if kind(at.Kind) != kindTurn || at.Index <= f.commit ||
		at.Index > f.commit+1+uint64(f.log.Len()) {
		return false
	}
	f.cut(at.Index - 1)
	return true
}

// cut applies the tail of a former primary's log up to an index and forgets the rest. No worker has
// heard of the rest: it was not committed, and workers repeat it.
func (f *follower) cut(last uint64) {
	f.tail = false
	for !f.log.Empty() {
		le := f.log.Pop()
		if le.index == f.commit+1 && le.index <= last {
			f.commit++
			f.apply(le)
			f.checkpoint(le)
		}
		f.recycle(le)
	}
}

// checkpoint keeps the backup's checksum where copies are compared: the next acknowledgement has
// it.
func (f *follower) checkpoint(le *logEntry) {
	if f.due(le) {
		f.checkAt, f.checkSum = le.index, f.sum(f.concerned(le))
	}
}
