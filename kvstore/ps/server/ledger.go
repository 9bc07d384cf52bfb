package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// ledger is the debt of a shard's primary to its workers: the pushes that it has taken in, and the
// acknowledgements that are due. It is not replicated.
type ledger struct {
	*host
	*seat
	*replica
	receipts []receipt // by rank; see receipt
	// fused is the fused push that is being handled: the value, which follows, acknowledges it.
	fused struct {
		seq       uint64 // 0: none is
		rank      uint16
		committed bool         // while it was handled
		outcome   wire.Outcome // of a push that is committed
	}
}

// receipt is the debt of a primary to one worker. It is not replicated: a new primary has taken in
// nothing that is not in the log, and workers repeat the rest.
//
// Invariants:
//  1. told <= received.
//  2. received is at least low of the worker's rankState once a push has come: pushes in the log
//     have been taken in.
type receipt struct {
	received uint64  // sequences up to here have been taken in
	told     uint64  // the worker knows that sequences up to here have been taken in
	since    ps.Time // when the first sequence behind told was taken in
	bytes    int     // payload of the sequences behind told
	gap      bool    // a push behind a gap has been dropped: the worker repeats from the gap on
	probed   bool    // the next acknowledgement answers a probe
	now      bool    // an acknowledgement is due even without outcomes
	acks     []byte  // outcomes that are due, encoded
}

// forget begins anew, with a worker's new incarnation or after a change of the primary.
func (rc *receipt) forget() { *rc = receipt{acks: rc.acks[:0]} }

// received counts a push whose turn it is. The worker learns of it when half of its credit is used
// up, or after AckDelay, or with the next outcome or value: a message for every push would cost as
// much as a small push itself.
func (l *ledger) received(rc *receipt, m *wire.Message) {
	l.stats.Pushes++
	if rc.received == rc.told {
		rc.since = l.now
	}
	rc.received = m.Seq
	rc.bytes += len(m.Payload)
	if rc.bytes >= l.cfg.Credit/2 {
		rc.now = true
	}
}

// probed tells a worker the outcomes of its pushes from seq on, as far as they are committed. It
// looks at one window at most: a worker has no more pushes that are not committed.
func (l *ledger) probed(rk *rankState, rc *receipt, seq uint64) {
	rc.now, rc.probed = true, true
	for n := 0; seq <= rc.received && n < len(rk.bits)*64; n++ {
		if rk.has(seq) {
			rc.acks = wire.AppendAck(rc.acks, seq, rk.outcome(seq))
		}
		seq++
	}
}

// receipt returns the debt to a worker. Its place may have been added since the copy was made.
func (l *ledger) receipt(rank int) *receipt {
	for rank >= len(l.receipts) {
		l.receipts = append(l.receipts, receipt{})
	}
	return &l.receipts[rank]
}

// unfuse acknowledges a fused push that was committed and not answered by a value: its pull waits
// for others, and the worker must not repeat the push meanwhile.
func (l *ledger) unfuse() {
	f := l.fused
	l.fused.seq = 0
	if f.committed && !l.answered(f.rank, f.seq) {
		rc := l.receipt(int(f.rank))
		rc.acks = wire.AppendAck(rc.acks, f.seq, f.outcome)
	}
}

// answered reports whether the outbox already answers a fused push by its value, which is an
// acknowledgement as well.
func (l *ledger) answered(rank uint16, seq uint64) bool {
	for i := len(l.me.Out.Sends) - 1; i >= 0 && i >= len(l.me.Out.Sends)-l.workers(); i-- {
		m := &l.me.Out.Sends[i].Msg
		if a := m.Answer(); m.Type == wire.TypeValue && a.Fused && a.Seq == seq &&
			m.Shard == l.id && l.me.Out.Sends[i].To.Rank == rank {
			return true
		}
	}
	return false
}

// ackPushes acknowledges the pushes of a log entry that is committed. Pushes of an earlier
// incarnation are awaited by no process any more: the new one learned of them from its cursor.
func (l *ledger) ackPushes(body *wire.Entry) {
	for i := range body.Len() {
		c := body.At(i)
		if c.Incarnation != l.ranks[c.Rank].incarnation || l.answered(c.Rank, c.Seq) {
			continue
		}
		if c.Seq == l.fused.seq && c.Rank == l.fused.rank {
			l.fused.committed, l.fused.outcome = true, c.Outcome
			continue
		}
		rc := l.receipt(int(c.Rank))
		rc.acks = wire.AppendAck(rc.acks, c.Seq, c.Outcome)
	}
}

// forgetAll begins anew with all workers, when the server takes over or gives up the shard.
func (l *ledger) forgetAll() {
	for i := range l.receipts {
		l.receipts[i].forget()
	}
}

// overdue makes receipts due that are older than AckDelay. Workers wait for receipts when their
// credit is used up, and repeat pushes without one.
func (l *ledger) overdue() {
	for r := range l.receipts {
		if rc := &l.receipts[r]; rc.received > rc.told && l.now-rc.since >= l.me.Timing.AckDelay {
			rc.now = true
		}
	}
}

// sendAcks sends the acknowledgements that are due, one message for each worker. It runs once for
// all messages that the server has handled, when the driver empties the outbox.
func (l *ledger) sendAcks() {
	for r := range l.receipts {
		rc := &l.receipts[r]
		if len(rc.acks) == 0 && !rc.now {
			continue
		}
		m := l.me.Message(wire.TypeAck)
		m.Shard, m.Epoch, m.Payload, m.Target = l.id, l.epoch, l.keep(rc.acks),
			l.ranks[r].incarnation
		m.SetReceipt(wire.Receipt{Received: rc.received, Gap: rc.gap, Probed: rc.probed})
		l.me.Send(wire.Node{Role: wire.Worker, Rank: uint16(r)}, m, nil)
		rc.told, rc.bytes, rc.gap, rc.probed, rc.now, rc.acks = rc.received, 0, false, false, false,
			rc.acks[:0]
	}
}
