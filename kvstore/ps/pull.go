package ps

import (
	"slices"

	"gomx/kvstore/wire"
)

// pull answers a pull, or lets it wait.
func (s *Server) pull(sh *shard, m *wire.Message) {
	e := sh.entries[ID{m.Key, m.Slice}]
	if e == nil {
		s.reject(m, wire.ReasonUnknownKey)
		return
	}
	if m.Flags&wire.FlagRows != 0 {
		if err := checkIndices(e, m.Payload); err != nil {
			s.refuse(m, err.Error())
			s.reject(m, wire.ReasonShape)
			return
		}
	}
	s.pullEntry(sh, e, m)
}

// pullEntry answers a pull of a known entry, or lets it wait: a fused pull is the second half of a push.
func (s *Server) pullEntry(sh *shard, e *entry, m *wire.Message) {
	p := parked{
		from: m.From, inc: m.Incarnation, seq: m.Seq, fused: m.Type == wire.TypePushPull, exact: m.Flags&wire.FlagExact != 0,
		need: m.Need, own: m.Clock, until: s.now + s.timing.Park, entry: e,
	}
	list := &e.parked
	rows := m.Flags&wire.FlagRows != 0
	if rows {
		list = &sh.rows
	}
	kept := 0
	for i := range *list {
		q := &(*list)[i]
		if q.from == p.from {
			kept += len(q.rows)
		}
		if q.from == p.from && q.seq == p.seq && q.fused == p.fused {
			q.inc, q.until, q.need, q.own = p.inc, p.until, p.need, p.own
			s.tellWaiting(sh, m, s.blamePull(sh, q))
			return
		}
	}
	if rows {
		p.rows = m.Payload
	}
	if s.answer(sh, &p) {
		return
	}
	if sh.waiting == nil {
		sh.waiting = make([]int, s.cfg.Workers)
	}
	if sh.waiting[m.From.Rank] >= 2*s.cfg.Window || rows && kept+len(m.Payload) > tickLimit {
		return // more than a worker has reason to: it will ask again
	}
	if rows {
		p.rows = append([]byte(nil), m.Payload...)
	}
	*list = append(*list, p)
	sh.parked++
	sh.waiting[m.From.Rank]++
}

// answer answers a pull if it can be answered now.
func (s *Server) answer(sh *shard, p *parked) bool {
	e := p.entry
	if p.rows != nil {
		return s.answerRows(sh, p)
	}
	clock := e.clock(s, sh)
	buf := e.value
	switch {
	case clock < p.need || e.direct && e.clocks[p.from.Rank] < p.own:
		return false
	case e.direct || e.version == p.need:
	case e.version == p.need+1 && e.prev != nil:
		// Others need not wait for this pull: the round after has closed, and the one that was asked for is still here.
		clock, buf = p.need, e.prev
	case p.exact:
		s.rejectParked(sh, p, wire.ReasonGone)
		return true
	}
	m := s.valueMessage(sh, p, clock)
	m.DType, m.Total, m.Payload = uint8(e.dtype), e.total, buf.data()
	s.send(p.from, m, buf.hold())
	return true
}

// valueMessage returns the answer to a pull without its payload.
func (s *Server) valueMessage(sh *shard, p *parked, clock uint64) wire.Message {
	s.stats.Pulls++
	m := s.message(wire.TypeValue)
	rc := &sh.receipts[p.from.Rank]
	m.Shard, m.Epoch = sh.id, sh.epoch
	a := wire.Answer{Seq: p.seq, Version: clock, Received: rc.received, Fused: p.fused}
	rc.told, rc.bytes, rc.now = rc.received, 0, rc.now && rc.gap // the value says what has been received
	m.Key, m.Slice, m.Slices, m.Target = p.entry.id.Key, p.entry.id.Slice, p.entry.slices, p.inc
	if p.fused {
		rk := &sh.ranks[p.from.Rank]
		if p.inc == rk.incarnation && rk.has(p.seq) {
			a.Outcome = rk.outcome(p.seq)
		}
	}
	m.SetAnswer(a)
	return m
}

func (s *Server) rejectParked(sh *shard, p *parked, why wire.Reason) {
	m := wire.Message{
		Type: wire.TypePull, Shard: sh.id, From: p.from, Incarnation: p.inc, Seq: p.seq, Key: p.entry.id.Key, Slice: p.entry.id.Slice, Slices: p.entry.slices,
	}
	s.reject(&m, why)
}

// unpark answers the pulls of an entry that can be answered now.
func (s *Server) unpark(sh *shard, e *entry) {
	e.parked = s.unparkList(sh, e.parked)
}

func (s *Server) unparkRows(sh *shard) {
	sh.rows = s.unparkList(sh, sh.rows)
}

func (s *Server) unparkList(sh *shard, list []parked) []parked {
	kept := list[:0]
	for i := range list {
		p := &list[i]
		if s.view.Current(p.from, p.inc) && p.until > s.now && !s.answer(sh, p) {
			kept = append(kept, *p)
			continue
		}
		sh.parked--
		sh.waiting[p.from.Rank]--
	}
	clear(list[len(kept):])
	return kept
}

// committed tells workers what a log entry means for them. It runs on the primary after apply.
func (s *Server) committed(sh *shard, le *logEntry) {
	body, _ := wire.DecodeEntry(le.body())
	e := le.entry
	if le.kind == kindJoin {
		// What has been committed since the join was put into the log is news of the incarnation before.
		sh.receipts[le.id.Key].forget(s)
	}
	if le.kind == kindInit {
		e = sh.entries[le.id]
	}
	if e != nil && le.kind == kindRound {
		for len(e.rounds) > 0 && e.rounds[0].clock <= e.version {
			s.freeRound(e.rounds[0])
			e.rounds = append(e.rounds[:0], e.rounds[1:]...)
		}
		s.capture(sh, e)
	}
	if e != nil && len(e.parked) > 0 {
		s.unpark(sh, e)
	}
	if le.kind == kindTick || le.kind == kindJoin || le.kind == kindStart {
		s.unparkRows(sh)
	}
	if le.kind == kindJoin || le.kind == kindStart {
		for _, e := range sh.order {
			s.closeRounds(sh, e)
			s.unpark(sh, e)
		}
	}
	if len(sh.asks) > 0 && (le.kind == kindInit || le.kind == kindSpec || le.kind == kindJoin || le.kind == kindStart) {
		s.answerAsks(sh)
	}
	for i := range body.Len() {
		c := body.At(i)
		if c.Incarnation != sh.ranks[c.Rank].incarnation || s.answered(sh, c.Rank, c.Seq) {
			continue
		}
		if c.Seq == s.fused.seq && c.Rank == s.fused.rank {
			s.fused.committed, s.fused.outcome = true, c.Outcome
			continue
		}
		rc := &sh.receipts[c.Rank]
		rc.acks = wire.AppendAck(rc.acks, c.Seq, c.Outcome)
	}
}

// answered reports whether the outbox already answers a fused push by its value, which is an acknowledgement as well.
func (s *Server) answered(sh *shard, rank uint16, seq uint64) bool {
	for i := len(s.out.Sends) - 1; i >= 0 && i >= len(s.out.Sends)-s.cfg.Workers; i-- {
		m := &s.out.Sends[i].Msg
		if a := m.Answer(); m.Type == wire.TypeValue && a.Fused && a.Seq == seq && m.Shard == sh.id && s.out.Sends[i].To.Rank == rank {
			return true
		}
	}
	return false
}

// flush sends the acknowledgements that a shard owes.
func (s *Server) flush(sh *shard) {
	if sh.answer {
		sh.answer = false
		s.answerPrimary(sh)
	}
	if sh.role != primary {
		return
	}
	for r := range sh.receipts {
		rc := &sh.receipts[r]
		if len(rc.acks) == 0 && !rc.now {
			continue
		}
		m := s.message(wire.TypeAck)
		m.Shard, m.Epoch, m.Payload, m.Target = sh.id, sh.epoch, s.keep(rc.acks), sh.ranks[r].incarnation
		m.SetReceipt(wire.Receipt{Received: rc.received, Gap: rc.gap, Probed: rc.probed})
		s.send(wire.Node{Role: wire.Worker, Rank: uint16(r)}, m, nil)
		rc.told, rc.bytes, rc.gap, rc.probed, rc.now, rc.acks = rc.received, 0, false, false, false, rc.acks[:0]
	}
}

// tickPrimary repeats what was not answered and drops pulls that nobody repeats.
func (s *Server) tickPrimary(sh *shard) {
	for r := range sh.receipts {
		if rc := &sh.receipts[r]; rc.received > rc.told && s.now-rc.since >= s.timing.AckDelay {
			rc.now = true
		}
	}
	s.tickPeer(sh)
	if sh.parked+len(sh.asks) == 0 || s.now < sh.swept {
		return
	}
	sh.swept = s.now + s.timing.Park/4
	s.answerAsks(sh)
	for _, e := range sh.order {
		if len(e.parked) > 0 {
			s.unpark(sh, e)
		}
	}
	s.unparkRows(sh)
}

// cursor tells a worker how far its pushes are committed.
func (s *Server) cursor(sh *shard, m *wire.Message) {
	rank := int(m.From.Rank)
	if sh.ranks[rank].incarnation != m.Incarnation {
		s.park(sh, m, s.behind(sh)) // its join is not committed yet
		return
	}
	if m.Flags&wire.FlagStart != 0 {
		s.begin(sh, m)
		return
	}
	c := wire.Cursor{Tick: sh.ranks[rank].tick}
	for r := range sh.ranks {
		c.Last = max(c.Last, sh.ranks[r].tick)
	}
	for _, e := range sh.order {
		version := e.version
		if e.direct {
			version = slices.Max(e.clocks)
		}
		c.Entries = append(c.Entries, wire.CursorEntry{
			Key: e.id.Key, Slice: e.id.Slice, Slices: e.slices, DType: uint8(e.dtype), Direct: e.direct, Rows: e.row > 0, Total: e.total,
			Clock: e.clocks[rank], Version: version,
		})
	}
	a := s.message(wire.TypeCursor)
	a.Shard, a.Epoch, a.Seq, a.Payload, a.Target = sh.id, sh.epoch, m.Seq, c.Append(nil), m.Incarnation
	s.send(m.From, a, nil)
}
