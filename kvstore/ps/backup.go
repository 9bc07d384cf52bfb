package ps

import (
	"fmt"

	"gomx/kvstore/wire"
)

// phase says how far a backup is.
type phase uint8

const (
	waiting   phase = iota // nothing has been sent
	streaming              // the state is being sent, entry by entry, between the entries of the log
	ended                  // all has been sent and acknowledged: nothing is committed without this backup any more
	inSync                 // the scheduler has made it durable that the backup may be promoted
)

// peer is what a primary knows about its backup.
//
// A new backup is built while the log goes on. The state of the entries travels inside the log, one log entry for each: what
// changes an entry before its part is of no interest to the backup, what changes it afterwards comes afterwards. No copy of the
// whole state is ever made.
type peer struct {
	replica wire.Replica
	phase   phase
	acked   uint64
	end     uint64 // index of the entry that ends the transfer
	must    uint64 // what was committed before the backup counted: it must have that before it may be promoted
	turn    uint64 // index of the entry by which a swap began, which the backup must have before the next one
	pos     int    // next entry of shard.order to send
	again   uint64 // while the backup catches up: the last entry that has been sent again; otherwise 0
	sent    Time
	asked   Time
}

func newPeer(place wire.Shard, next uint64) *peer {
	p := &peer{replica: place.Backup, acked: next}
	if place.InSync {
		p.phase = inSync
	}
	return p
}

const (
	// transferAhead is how many entries of the log may be on their way to a backup while parts are sent.
	transferAhead = 8
	// resendBurst is how many entries that are sent again may be on their way to a backup that catches up.
	resendBurst = 32
	// logLimit is where a backup that does not keep up is given up, before it is in sync.
	logLimit = 1 << 14
)

// pump goes on with a transfer. It reports whether it has added to the log.
func (s *Server) pump(sh *shard) bool {
	p := sh.peer
	if p == nil {
		return false
	}
	switch p.phase {
	case waiting:
		if sh.commit != sh.next {
			return false
		}
		p.phase, p.acked = streaming, sh.next
		s.out.event(EventTransfer, wire.Node{Role: wire.Server, Rank: p.replica.Server}, sh.id, sh.epoch, "")
		s.appendMarker(sh, kindBegin, nil)
		return true
	case streaming:
		if p.end != 0 {
			if p.acked >= p.end {
				p.phase, p.must = ended, sh.commit
			}
			return false
		}
		if sh.next-p.acked > transferAhead {
			return false
		}
		if p.pos == len(sh.order) {
			s.appendMarker(sh, kindEnd, sh.appendHead(nil))
			p.end = sh.next
			return true
		}
		e := sh.order[p.pos]
		p.pos++
		s.appendMarker(sh, kindPart, s.appendPart(nil, sh, e))
		return true
	}
	return false
}

// appendMarker adds an entry to the log that means nothing to the primary itself. It is called when everything is committed, so
// that the state it carries is that of its place in the log.
func (s *Server) appendMarker(sh *shard, k kind, payload []byte) {
	le := s.newEntry(k)
	le.head()
	le.own = append(le.own, payload...)
	s.append(sh, le)
}

// replicated takes in a backup's acknowledgement.
func (s *Server) replicated(sh *shard, m *wire.Message) {
	p, r := sh.peer, m.LogReceipt()
	if p == nil || r.Index > sh.next {
		return
	}
	if r.CheckAt != 0 {
		s.compare(sh, r.CheckAt, r.Checksum, false)
	}
	if r.Index > p.acked {
		p.acked = r.Index
		p.sent = s.now
		if p.again != 0 {
			s.sendAgain(sh)
		}
	}
	s.advance(sh)
	s.requestSync(sh)
}

// requestSync asks the scheduler to make the backup promotable, once it has everything that was ever committed. With the same words
// it confirms a swap of which the backup knows.
func (s *Server) requestSync(sh *shard) {
	p := sh.peer
	switch {
	case p == nil || s.now < p.asked:
		return
	case p.phase == inSync && (!sh.place.Swapped || p.acked < p.turn), p.phase < ended, p.acked < p.must:
		return
	}
	p.asked = s.now + s.timing.Resend
	m := s.message(wire.TypeInSync)
	m.Shard, m.Epoch = sh.id, sh.epoch
	m.SetCopyIncarnation(p.replica.Incarnation)
	s.send(scheduler, m, nil)
}

// tickPeer sends again what the backup has not acknowledged.
func (s *Server) tickPeer(sh *shard) {
	p := sh.peer
	if p == nil {
		return
	}
	s.advance(sh)
	s.requestSync(sh)
	if p.acked < sh.next && s.now-p.sent >= s.timing.Resend {
		p.again = p.acked
		s.sendAgain(sh)
	}
	if p.phase < ended && sh.log.len() > logLimit {
		s.diverged(sh, "it does not keep up")
	}
}

// sendAgain sends a backup that has missed entries the next of them. It takes entries in their order only, so that those which are new
// are lost on it until it has been sent all; that many are on their way lets it catch up at the pace of the connection.
func (s *Server) sendAgain(sh *shard) {
	p := sh.peer
	for p.again = max(p.again, p.acked); p.again < min(sh.next, p.acked+resendBurst); {
		p.again++
		if le := sh.log.at(p.again); le != nil {
			s.sendEntry(sh, le)
		}
	}
	if p.again == sh.next {
		p.again = 0 // from here on the backup has everything that is sent
	}
}

// diverged asks the scheduler to drop the backup.
func (s *Server) diverged(sh *shard, why string) {
	s.out.event(EventDiverged, wire.Node{Role: wire.Server, Rank: sh.peer.replica.Server}, sh.id, sh.epoch, why)
	m := s.message(wire.TypeDiverged)
	m.Shard, m.Epoch = sh.id, sh.epoch
	m.SetCopyIncarnation(sh.peer.replica.Incarnation)
	s.send(scheduler, m, nil)
}

// replicate takes in an entry of the primary's log.
func (s *Server) replicate(sh *shard, m *wire.Message) {
	sh.answer = true
	at := m.LogPlace()
	k := kind(at.Kind)
	if sh.blank {
		if k != kindBegin {
			return
		}
		sh.blank, sh.rebuilding, sh.commit = false, true, at.Index-1
	}
	if sh.tail && !s.turned(sh, m) {
		return
	}
	if at.Index != sh.commit+1 {
		return
	}
	body, err := wire.DecodeEntry(m.Payload)
	if err == nil {
		err = s.checkEntry(sh, m, &body)
	}
	if err != nil {
		s.refuse(m, err.Error())
		return
	}
	le := s.entryOf(sh, m, &body)
	sh.commit++
	switch {
	case k == kindPart || k == kindEnd:
		s.applyTransfer(sh, k, body.Payload)
	case sh.rebuilding && le.entry == nil && (k == kindRound || k == kindDirect || k == kindSkip):
		// The entry's part comes later and contains this.
	default:
		s.apply(sh, le)
	}
	s.checkpoint(sh, le)
	s.recycle(le)
}

// checkEntry looks at what a primary of the same version never gets wrong, so that nothing else is a danger to this process.
func (s *Server) checkEntry(sh *shard, m *wire.Message, body *wire.Entry) error {
	k := kind(m.LogPlace().Kind)
	if k == 0 || k > lastKind {
		return fmt.Errorf("unknown kind %d", k)
	}
	for i := range body.Len() {
		if r := body.At(i).Rank; int(r) >= len(sh.ranks) {
			return fmt.Errorf("contributor of rank %d of %d", r, len(sh.ranks))
		}
	}
	if (k == kindJoin || k == kindStart) && int(m.Key) >= len(sh.ranks) {
		return fmt.Errorf("join of rank %d of %d", m.Key, len(sh.ranks))
	}
	e := sh.entries[ID{m.Key, m.Slice}]
	switch {
	case k == kindTick:
		return s.checkRows(sh, body.Payload)
	case k == kindInit:
		im := *m
		im.Payload = body.Payload
		if m.Flags&wire.FlagRows != 0 {
			im.SetBlock(wire.Block{Row: m.Total, Size: m.LogPlace().Clock})
		}
		_, err := initSize(&im)
		return err
	case k != kindRound && k != kindDirect, e == nil && sh.rebuilding:
		return nil
	case e == nil:
		return fmt.Errorf("key %d is not known", m.Key)
	case k == kindRound:
		return (Plain{}).Check(body.Payload, e.size, e.dtype, 0)
	}
	return s.cfg.Arithmetic.Check(body.Payload, e.size, e.dtype, m.Codec)
}

// entryOf makes a log entry of a message. Sums are kept in memory that can become the value.
func (s *Server) entryOf(sh *shard, m *wire.Message, body *wire.Entry) *logEntry {
	at := m.LogPlace()
	le := s.newEntry(kind(at.Kind))
	le.index, le.clock, le.id, le.slices = at.Index, at.Clock, ID{m.Key, m.Slice}, m.Slices
	le.dtype, le.codec, le.total = m.DType, m.Codec, m.Total
	le.rows, le.direct, le.n = m.Flags&wire.FlagRows != 0, m.Flags&wire.FlagDirect != 0, body.Len()
	if le.kind == kindRound || le.kind == kindDirect || le.kind == kindSkip {
		le.entry = sh.entries[le.id]
	}
	switch {
	case le.entry != nil && (le.kind == kindRound || le.kind == kindDirect && len(body.Payload) == le.entry.size && le.n == 1):
		le.buf = le.entry.pool.get()
		copy(le.body(), m.Payload)
	case le.kind == kindPart || le.kind == kindEnd:
		le.head()
	default:
		le.own = append(le.own, m.Payload...)
	}
	return le
}

// applyTransfer takes over a part of a new copy's state.
func (s *Server) applyTransfer(sh *shard, k kind, payload []byte) {
	var err error
	if k == kindPart {
		_, err = s.setPart(sh, payload)
	} else {
		_, err = s.setHead(sh, payload)
		sh.rebuilding = false
	}
	if err != nil {
		sh.rebuilding = true // never complete: the primary will notice that it is never acknowledged
		sh.commit--
		s.out.event(EventDiverged, s.self, sh.id, sh.epoch, err.Error())
	}
}

// answerPrimary acknowledges what a backup has.
func (s *Server) answerPrimary(sh *shard) {
	m := s.message(wire.TypeReplicated)
	m.Shard, m.Epoch = sh.id, sh.epoch
	m.SetLogReceipt(wire.LogReceipt{Index: sh.commit, CheckAt: sh.checkAt, Checksum: sh.checkSum})
	s.send(wire.Node{Role: wire.Server, Rank: sh.place.Primary.Server}, m, nil)
}

// checkpoint is a comparison of two copies at an index.
type checkpoint struct {
	index        uint64
	mine, theirs uint32
	have         uint8 // 1: mine, 2: theirs
}

// checkpoint compares copies every so many entries: the backup sends its checksum with its next acknowledgement.
func (s *Server) checkpoint(sh *shard, le *logEntry) {
	if le.index%s.cfg.CheckEvery != 0 || sh.rebuilding || sh.role == primary && (sh.peer == nil || sh.peer.phase < ended) {
		return
	}
	e := le.entry
	if le.kind == kindInit {
		e = sh.entries[le.id]
	}
	sum := sh.sum(e)
	if sh.role == backup {
		sh.checkAt, sh.checkSum = le.index, sum
		return
	}
	s.compare(sh, le.index, sum, true)
}

// compare notes one side's checksum and reports a difference.
func (s *Server) compare(sh *shard, index uint64, sum uint32, mine bool) {
	c := &sh.checks[index/s.cfg.CheckEvery%uint64(len(sh.checks))]
	if c.index > index {
		return
	}
	if c.index < index {
		*c = checkpoint{index: index}
	}
	if mine {
		c.mine, c.have = sum, c.have|1
	} else {
		c.theirs, c.have = sum, c.have|2
	}
	if c.have == 3 && c.mine != c.theirs {
		c.have = 0
		s.diverged(sh, fmt.Sprintf("checksum %#x at entry %d, the primary has %#x", c.theirs, index, c.mine))
	}
}
