package ps

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gomx/kvstore/wire"
)

// round collects the pushes of one clock to one entry. Sums are taken in the order of the ranks, so that they do not depend on
// timing: a push is added when all expected lower ranks have been, and kept until then.
type round struct {
	clock uint64
	sum   *Buffer
	empty bool // nothing has been added
	done  int  // ranks below are added, or not expected
	n     int  // contributions
	have  []contribution
}

// contribution is one worker's push in a round.
type contribution struct {
	in      bool
	added   bool
	known   bool // the values are those of an earlier incarnation
	codec   uint8
	inc     uint32
	seq     uint64
	payload []byte
	owner   wire.Owner
	copied  []byte // memory for a payload that had no owner
}

func (s *Server) newRound(e *entry, clock uint64) *round {
	var rd *round
	if n := len(s.rounds); n > 0 {
		rd = s.rounds[n-1]
		s.rounds = s.rounds[:n-1]
	} else {
		rd = &round{have: make([]contribution, s.cfg.Workers)}
	}
	rd.clock, rd.sum, rd.empty, rd.done, rd.n = clock, e.pool.get(), true, 0, 0
	return rd
}

// freeRound forgets a round and what it holds.
func (s *Server) freeRound(rd *round) {
	for i := range rd.have {
		c := &rd.have[i]
		s.letGo(c)
		*c = contribution{copied: c.copied[:0]}
	}
	rd.sum.release()
	rd.sum = nil
	s.rounds = append(s.rounds, rd)
}

// letGo gives back a payload that was kept.
func (s *Server) letGo(c *contribution) {
	if c.payload == nil {
		return
	}
	s.stats.Held -= uint64(len(c.payload))
	if c.owner != nil {
		c.owner.Release()
	}
	c.payload, c.owner = nil, nil
}

// joining reports whether an entry that lets a worker's incarnation in is in the log already.
func (s *Server) joining(sh *shard, rank int, inc uint32) bool {
	for i := sh.commit + 1; i <= sh.next; i++ {
		if le := sh.log.at(i); le != nil && le.kind == kindJoin && int(le.id.Key) == rank && le.clock >= uint64(inc) {
			return true
		}
	}
	return false
}

// appendJoin lets a worker's new incarnation in.
func (s *Server) appendJoin(sh *shard, rank int, inc uint32) {
	sh.receipts[rank].forget(s)
	le := s.newEntry(kindJoin)
	le.head()
	le.id.Key, le.clock = uint32(rank), uint64(inc)
	if s.loose() {
		le.total = 1
	}
	s.append(sh, le)
}

// begin takes in where a worker starts: it has asked all shards how far they are, and starts behind the furthest, the same
// everywhere. Rounds before that do not wait for it: otherwise it would wait for rounds that others have not begun, and they for
// rounds that it has not.
func (s *Server) begin(sh *shard, m *wire.Message) {
	rk := &sh.ranks[m.From.Rank]
	if !rk.away {
		a := s.message(wire.TypeCursor)
		a.Flags, a.Shard, a.Epoch, a.Seq, a.Target = wire.FlagStart, sh.id, sh.epoch, m.Seq, m.Incarnation
		s.send(m.From, a, nil)
		return
	}
	for i := sh.commit + 1; i <= sh.next; i++ {
		if le := sh.log.at(i); le.kind == kindStart && le.id.Key == uint32(m.From.Rank) {
			s.park(sh, m, s.behind(sh)) // on its way to the backup
			return
		}
	}
	le := s.newEntry(kindStart)
	le.head()
	le.id.Key, le.clock = uint32(m.From.Rank), uint64(m.Incarnation)
	at := m.StartPoint()
	for _, v := range [...]uint64{at.Round, at.Push, at.Step} {
		le.own = binary.LittleEndian.AppendUint64(le.own, v)
	}
	s.park(sh, m, s.behind(sh))
	s.append(sh, le)
}

// push takes in a push, a fused push and pull, a tick, or a probe.
func (s *Server) push(sh *shard, m *wire.Message) {
	rank := int(m.From.Rank)
	rk, rc := &sh.ranks[rank], &sh.receipts[rank]
	if rk.incarnation != m.Incarnation || rk.away {
		return // its join is not committed yet, or it has not said where it starts; the worker will ask again
	}
	rc.received = max(rc.received, rk.low)
	for rk.has(rc.received + 1) {
		rc.received++
	}
	if m.Type == wire.TypeProbe {
		s.probed(rk, rc, m.Seq)
		if m.Seq <= rc.received && !rk.has(m.Seq) {
			s.tellWaiting(sh, m, s.blamePush(sh, rank, m.Seq))
		}
		return
	}
	switch {
	case m.Seq <= rc.received:
		s.duplicate(sh, m)
		return
	case m.Seq > rc.received+1 || m.Seq > rk.low+uint64(len(rk.bits))*64:
		s.stats.Early++
		rc.gap, rc.now = true, true
		return
	}
	if m.Type == wire.TypeTick {
		s.received(rc, m)
		s.tick(sh, m)
		return
	}
	e := sh.entries[ID{m.Key, m.Slice}]
	rows := m.Flags&wire.FlagRows != 0
	if e == nil && !rows {
		s.reject(m, wire.ReasonUnknownKey)
		return
	}
	if err := s.fits(sh, e, m); err != nil {
		s.refuse(m, err.Error())
		s.reject(m, wire.ReasonShape)
		return
	}
	if !rows && !e.direct {
		s.skipRounds(e, m.Clock)
	}
	if m.Type == wire.TypePushPull {
		s.fused.seq, s.fused.rank, s.fused.committed = m.Seq, m.From.Rank, false
		defer s.unfuse(sh)
	}
	switch {
	case rows:
		s.received(rc, m)
		s.pushRows(sh, m)
		return
	case e.direct:
		s.received(rc, m)
		s.pushDirect(sh, e, m)
	case m.Clock > e.closed+uint64(s.cfg.Ahead):
		s.stats.Early++
		rc.now = true
		return // more rounds than agreed: the worker will ask again
	default:
		s.received(rc, m)
		s.pushRound(sh, e, m)
	}
	if m.Type == wire.TypePushPull {
		s.pullEntry(sh, e, m)
	}
}

// unfuse acknowledges a fused push that was committed and not answered by a value.
func (s *Server) unfuse(sh *shard) {
	f := s.fused
	s.fused.seq = 0
	if f.committed && !s.answered(sh, f.rank, f.seq) {
		rc := &sh.receipts[f.rank]
		rc.acks = wire.AppendAck(rc.acks, f.seq, f.outcome)
	}
}

// skipRounds gives up rounds before a clock that nobody contributes to: all who count start behind them.
func (s *Server) skipRounds(e *entry, clock uint64) {
	if clock <= e.closed+1 {
		return
	}
	last := clock - 1
	for r, start := range e.starts {
		if s.counts(r) {
			last = min(last, start)
		}
	}
	for _, rd := range e.rounds {
		if rd.n > 0 && rd.clock > e.closed {
			last = min(last, rd.clock-1)
			break
		}
	}
	e.closed = max(e.closed, last)
}

// fits checks a payload.
func (s *Server) fits(sh *shard, e *entry, m *wire.Message) error {
	if m.Flags&wire.FlagRows != 0 {
		if n := len(sh.receipts[m.From.Rank].step.bytes) + len(m.Payload); n > 2*tickLimit {
			return fmt.Errorf("step of %d bytes", n)
		}
		return s.checkRows(sh, m.Payload)
	}
	if e.row > 0 {
		return errors.New("push of a whole table")
	}
	return s.cfg.Arithmetic.Check(m.Payload, e.size, e.dtype, m.Codec)
}

// received counts a push whose turn it is. The worker learns of it when it matters for its credit, or after a while.
func (s *Server) received(rc *receipt, m *wire.Message) {
	s.stats.Pushes++
	if rc.received == rc.told {
		rc.since = s.now
	}
	rc.received = m.Seq
	rc.bytes += len(m.Payload)
	if rc.bytes >= s.cfg.Credit/2 {
		rc.now = true
	}
}

// duplicate answers a push that has been taken in before.
func (s *Server) duplicate(sh *shard, m *wire.Message) {
	s.stats.Duplicates++
	rc := &sh.receipts[m.From.Rank]
	rc.now = true
	if rk := &sh.ranks[m.From.Rank]; rk.has(m.Seq) {
		rc.acks = wire.AppendAck(rc.acks, m.Seq, rk.outcome(m.Seq))
	}
	if m.Type != wire.TypePushPull {
		return
	}
	if e := sh.entries[ID{m.Key, m.Slice}]; e != nil {
		s.pullEntry(sh, e, m)
	}
}

// probed tells a worker what became of its pushes from seq on.
func (s *Server) probed(rk *rankState, rc *receipt, seq uint64) {
	rc.now, rc.probed = true, true
	for n := 0; seq <= rc.received && n < len(rk.bits)*64; n++ {
		if rk.has(seq) {
			rc.acks = wire.AppendAck(rc.acks, seq, rk.outcome(seq))
		}
		seq++
	}
}

// contributor describes a push.
func contributor(m *wire.Message, o wire.Outcome) wire.Contributor {
	return wire.Contributor{Rank: m.From.Rank, Outcome: o, Incarnation: m.Incarnation, Seq: m.Seq}
}

// skip puts a push into the log that changes nothing.
func (s *Server) skip(sh *shard, e *entry, m *wire.Message, o wire.Outcome) {
	le := s.newEntry(kindSkip)
	le.head(contributor(m, o))
	le.clock = m.Clock
	s.appendTo(sh, e, le)
}

// pushDirect applies a push on its own, unless an earlier incarnation of the worker has sent it.
func (s *Server) pushDirect(sh *shard, e *entry, m *wire.Message) {
	if m.Clock <= e.clocks[m.From.Rank] {
		s.skip(sh, e, m, wire.Known)
		return
	}
	le := s.newEntry(kindDirect)
	if len(m.Payload) == e.size {
		le.n, le.buf = 1, e.pool.get()
		copy(le.buf.data(), m.Payload)
		wire.PutEntry(le.body()[:wire.EntrySize(1)], 1, 0)
		wire.PutContributor(le.body(), 0, contributor(m, wire.Applied))
	} else {
		le.head(contributor(m, wire.Applied))
		le.own = append(le.own, m.Payload...)
	}
	le.clock, le.codec = m.Clock, m.Codec
	s.appendTo(sh, e, le)
}

// pushRound adds a push to its round.
func (s *Server) pushRound(sh *shard, e *entry, m *wire.Message) {
	rank := int(m.From.Rank)
	if m.Clock <= e.clocks[rank] {
		s.skip(sh, e, m, wire.Known)
		return
	}
	rd := e.open(m.Clock)
	if m.Clock <= e.closed {
		if rd != nil && rd.have[rank].in {
			s.skip(sh, e, m, wire.Known)
			return
		}
		s.stats.Late++
		s.skip(sh, e, m, wire.Late)
		return
	}
	if rd == nil {
		rd = s.newRound(e, m.Clock)
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
	for rd.done < rank && !rd.have[rd.done].in && !s.expects(e, rd.done, rd.clock) {
		rd.done++
	}
	if s.cfg.Backups == 0 && rank <= rd.done {
		s.add(e, rd, c, m.Payload)
	} else {
		c.payload, c.owner = m.Take(c.copied)
		if c.owner == nil {
			c.copied = c.payload
		}
		s.stats.Held += uint64(len(c.payload))
	}
	s.closeRounds(sh, e)
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

// add adds a payload to the sum.
func (s *Server) add(e *entry, rd *round, c *contribution, payload []byte) {
	if rd.empty {
		s.cfg.Arithmetic.Store(rd.sum.data(), payload, e.dtype, c.codec)
		rd.empty = false
	} else {
		s.cfg.Arithmetic.Add(rd.sum.data(), payload, e.dtype, c.codec)
	}
	c.added = true
}

// sumUp adds what is kept, as far as the order of ranks allows. It reports whether all who are expected have contributed.
func (s *Server) sumUp(e *entry, rd *round) bool {
	for rd.done < len(rd.have) {
		c := &rd.have[rd.done]
		switch {
		case c.in && !c.added:
			s.add(e, rd, c, c.payload)
			s.letGo(c)
		case !c.in && s.expects(e, rd.done, rd.clock):
			return false
		}
		rd.done++
	}
	return true
}

// missing returns the lowest rank that a round waits for, -1 if there is none.
func (s *Server) missing(e *entry, rd *round) int {
	for r := range rd.have {
		if !rd.have[r].in && s.expects(e, r, rd.clock) {
			return r
		}
	}
	return -1
}

// complete reports whether a round can be closed, after adding what can be added.
func (s *Server) complete(e *entry, rd *round) bool {
	if s.cfg.Backups == 0 {
		return s.sumUp(e, rd) && rd.n > 0
	}
	expected, counted := 0, 0
	for r := range rd.have {
		if rd.have[r].in || s.counts(r) {
			counted++
		}
		if rd.have[r].in || s.expects(e, r, rd.clock) {
			expected++
		}
	}
	// A worker that is about to start is one of those whom the round need not wait for.
	if rd.n == 0 || rd.n < min(expected, counted-s.cfg.Backups) {
		return false
	}
	for r := range rd.have {
		if c := &rd.have[r]; c.in && !c.added {
			s.add(e, rd, c, c.payload)
			s.letGo(c)
		}
	}
	return true
}

// closeRounds puts complete rounds into the log, in order.
func (s *Server) closeRounds(sh *shard, e *entry) {
	for {
		s.skipRounds(e, e.furthest())
		rd := e.open(e.closed + 1)
		if rd == nil || !s.complete(e, rd) {
			return
		}
		e.closed++
		s.stats.Rounds++
		le := s.newEntry(kindRound)
		le.clock, le.n = rd.clock, rd.n
		le.buf = rd.sum.hold()
		head := le.buf.entry(le.n)[:wire.EntrySize(le.n)]
		wire.PutEntry(head, le.n, 0)
		i := 0
		for r := range rd.have {
			if c := &rd.have[r]; c.in {
				o := wire.Applied
				if c.known {
					o = wire.Known
				}
				wire.PutContributor(head, i, wire.Contributor{Rank: uint16(r), Outcome: o, Incarnation: c.inc, Seq: c.seq})
				i++
			}
		}
		s.appendTo(sh, e, le)
	}
}
