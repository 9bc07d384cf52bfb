package server

import (
	"errors"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// intake takes in the pushes of workers, puts sums and single pushes into the log, and closes
// rounds.
//
// Every push has two numbers. The sequence counts the pushes of one process on one shard: it finds
// repetitions of messages, and gaps. The clock counts the pushes of one place to one slice: it
// finds pushes that a successor makes again, under a new sequence. A push counts if both are new.
type intake struct {
	*host
	*seat
	*replica
	*rounds
	*journal
	*ledger
	*pulls
}

// push takes in a push, a fused push and pull, or a probe.
//
// Pushes of a worker are taken in in the order of their sequences. One that is behind a gap is
// dropped, not kept: the worker repeats it with the one that was lost, and the server needs no
// memory for it. A push beyond the window cannot be noted, and the worker knows that it must wait.
func (in *intake) push(m *wire.Message) {
	rank := int(m.From.Rank)
	rk, rc := &in.ranks[rank], in.receipt(rank)
	if rk.incarnation != m.Incarnation || rk.away {
		// its join is not committed yet, or it has not said where it starts; the worker will ask
		// again
		return
	}
	// Receipts are not replicated: after a promotion the log knows of more pushes than they do.
	rc.received = max(rc.received, rk.low)
	for rk.has(rc.received + 1) {
		rc.received++
	}
	if m.Type == wire.TypeProbe {
		in.probed(rk, rc, m.Seq)
		if m.Seq <= rc.received && !rk.has(m.Seq) {
			in.tellWaiting(m, in.blamePush(rank, m.Seq))
		}
		return
	}
	switch {
	case m.Seq <= rc.received:
		in.duplicate(m)
		return
	case m.Seq > rc.received+1 || m.Seq > rk.low+uint64(len(rk.bits))*64:
		in.stats.Early++
		rc.gap, rc.now = true, true
		return
	}
	if in.starved() {
		in.stats.Early++
		rc.now = true
		return // the worker will ask again
	}
	e := in.entries[ps.ID{Key: m.Key, Slice: m.Slice}]
	if e == nil {
		in.reject(m, wire.ReasonUnknownKey)
		return
	}
	if err := in.fits(e, m); err != nil {
		in.refuse(m, err.Error())
		in.reject(m, wire.ReasonShape)
		return
	}
	if !e.direct {
		in.skipRounds(e, m.Clock)
	}
	// A push that is committed while it is handled needs no acknowledgement of its own if the value
	// goes out with it.
	if m.Type == wire.TypePushPull {
		in.fused.seq, in.fused.rank, in.fused.committed = m.Seq, m.From.Rank, false
		defer in.unfuse()
	}
	switch {
	case e.direct:
		in.received(rc, m)
		in.pushDirect(e, m)
	case m.Clock > e.closed+uint64(in.cfg.Ahead):
		in.stats.Early++
		rc.now = true
		return // more rounds than agreed: the worker will ask again
	default:
		in.received(rc, m)
		in.pushRound(e, m)
	}
	if m.Type == wire.TypePushPull {
		in.pullEntry(e, m)
	}
}

// fits checks a payload. The sum of a round must fit into a message of the log: so each worker has
// its share of one.
func (in *intake) fits(e *entry, m *wire.Message) error {
	switch {
	case e.sparse == nil:
		return in.cfg.Arithmetic.Check(m.Payload, e.size, e.dtype, m.Codec)
	case m.Type == wire.TypePushPull:
		return errors.New("push and pull of a sparse key")
	case e.direct:
		return e.sparse.Check(m.Payload, m.Codec, in.cfg.Arithmetic, node.MaxSlice)
	}
	return e.sparse.Check(m.Payload, m.Codec, in.cfg.Arithmetic, node.MaxSlice/in.workers())
}

// duplicate answers a push that has been taken in before. Its outcome is sent again if it is
// committed; otherwise the worker hears of it when it is. A fused pull is answered in any case: the
// value may be the message that was lost.
func (in *intake) duplicate(m *wire.Message) {
	in.stats.Duplicates++
	rc := in.receipt(int(m.From.Rank))
	rc.now = true
	if rk := &in.ranks[m.From.Rank]; rk.has(m.Seq) {
		rc.acks = wire.AppendAck(rc.acks, m.Seq, rk.outcome(m.Seq))
	}
	if m.Type != wire.TypePushPull {
		return
	}
	if e := in.entries[ps.ID{Key: m.Key, Slice: m.Slice}]; e != nil {
		in.pullEntry(e, m)
	}
}

// contributor describes a push.
func contributor(m *wire.Message, o wire.Outcome) wire.Contributor {
	return wire.Contributor{Rank: m.From.Rank, Outcome: o, Incarnation: m.Incarnation, Seq: m.Seq}
}

// skip puts a push into the log that changes nothing. It has to go through the log all the same:
// its sequence must be marked on both copies, or the window of the worker would not move on.
func (in *intake) skip(e *entry, m *wire.Message, o wire.Outcome) {
	le := in.newEntry(kindSkip)
	le.head(contributor(m, o))
	le.clock = m.Clock
	in.appendTo(e, le)
}

// pushDirect applies a push on its own, unless an earlier incarnation of the worker has sent it. A
// push of plain values is kept in a buffer of the entry, so that a backup gets it without another
// copy.
func (in *intake) pushDirect(e *entry, m *wire.Message) {
	if m.Clock <= e.clocks[m.From.Rank] {
		in.skip(e, m, wire.Known)
		return
	}
	le := in.newEntry(kindDirect)
	if len(m.Payload) == e.size && e.sparse == nil {
		le.n, le.buf = 1, e.pool.get()
		copy(le.buf.data(), m.Payload)
		wire.PutEntry(le.body()[:wire.EntrySize(1)], 1)
		wire.PutContributor(le.body(), 0, contributor(m, wire.Applied))
	} else {
		le.head(contributor(m, wire.Applied))
		le.own = append(le.own, m.Payload...)
	}
	le.clock, le.codec = m.Clock, m.Codec
	in.appendTo(e, le)
}

// pushRound adds a push to its round. A push for a round that is closed is late, unless the round
// has it from an earlier incarnation. Without backup workers it goes into the sum at once if its
// turn among the ranks has come; a round with backup workers keeps all pushes until it closes.
func (in *intake) pushRound(e *entry, m *wire.Message) {
	rank := int(m.From.Rank)
	// Committed before, by a process whose place this worker has taken over.
	if m.Clock <= e.clocks[rank] {
		in.skip(e, m, wire.Known)
		return
	}
	rd := e.open(m.Clock)
	if m.Clock <= e.closed {
		if rd != nil && rd.have[rank].in {
			in.skip(e, m, wire.Known)
			return
		}
		in.stats.Late++
		in.skip(e, m, wire.Late)
		return
	}
	if rd == nil {
		rd = in.newRound(e, m.Clock)
		e.insert(rd)
	}
	c := &rd.have[rank]
	if c.in {
		// An earlier incarnation has sent it: the sum has it, the answer goes to the new one.
		c.inc, c.seq, c.known = m.Incarnation, m.Seq, true
		return
	}
	c.in, c.inc, c.seq, c.codec = true, m.Incarnation, m.Seq, m.Codec
	rd.n++
	// Ranks that the round does not expect do not hold up the sum.
	for rd.done < rank && !rd.have[rd.done].in && !in.expects(e, rd.done, rd.clock) {
		rd.done++
	}
	if in.cfg.Backups == 0 && rank <= rd.done {
		in.add(e, rd, c, m.Payload)
	} else {
		in.hold(e, c, m)
	}
	in.closeRounds(e)
}

// closeRounds puts complete rounds into the log, in order. The head of the log entry lists the
// pushes in the sum; a worker whose contribution came from its predecessor hears that it was known.
func (in *intake) closeRounds(e *entry) {
	for {
		in.skipRounds(e, e.furthest())
		rd := e.open(e.closed + 1)
		if rd == nil || !in.complete(e, rd) {
			return
		}
		e.closed++
		in.stats.Rounds++
		le := in.newEntry(kindRound)
		le.clock, le.n = rd.clock, rd.n
		var head []byte
		if size := wire.EntrySize(le.n); e.sparse != nil {
			le.own = append(append(le.own, make([]byte, size)...), rd.rows...)
			head = le.own[:size]
		} else {
			le.buf = rd.sum.hold()
			head = le.buf.entry(le.n)[:size]
		}
		wire.PutEntry(head, le.n)
		i := 0
		for r := range rd.have {
			if c := &rd.have[r]; c.in {
				o := wire.Applied
				if c.known {
					o = wire.Known
				}
				wire.PutContributor(head, i, wire.Contributor{Rank: uint16(r), Outcome: o,
					Incarnation: c.inc, Seq: c.seq})
				i++
			}
		}
		in.appendTo(e, le)
	}
}
