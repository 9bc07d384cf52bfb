package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// phase says how far a backup is.
type phase uint8

const (
	waiting phase = iota // nothing has been sent
	// the state is being sent, entry by entry, between the entries of the log
	streaming
	// all has been sent and acknowledged: nothing is committed without this backup any more
	ended
	inSync // the scheduler has made it durable that the backup may be promoted
)

// peer is a primary's knowledge of its backup, or of a third copy.
//
// A new backup is built while the log goes on. The state of the entries travels inside the log, one
// log entry for each: changes of an entry before its part are of no interest to the backup, later
// ones come later. No copy of the whole state is ever made.
type peer struct {
	replica wire.Replica // server and incarnation that have the copy
	attempt uint32       // of a third copy (wire.Shard.Attempt)
	phase   phase
	acked   uint64 // the backup has all entries of the log up to here
	end     uint64 // index of the entry that ends the transfer; 0: it has not been appended
	// last index committed before the backup counted, which it must have before it may be promoted
	must uint64
	// index of the entry by which a swap began, which the backup must have before the next one
	turn uint64
	pos  int // next entry of shard.order to send
	row  int // next row of a sparse entry to send
	// since when a transfer waits until the changes in the log are committed; 0: it does not wait
	blocked ps.Time
	// while the backup catches up: the last entry that has been sent again; otherwise 0
	again uint64
	// when the first entry that the copy lacks was sent last, or the one before acknowledged: some
	// time later it is repeated. Entries that follow do not count, or a copy that has missed one
	// would wait for it as long as pushes follow each other.
	sent  ps.Time
	asked ps.Time // when the scheduler may be asked again to make the backup promotable
}

// newPeer returns a backup that has nothing, or, if the view calls it in sync, all that was
// committed: then the log goes on from next.
func newPeer(place wire.Shard, next uint64) *peer {
	p := &peer{replica: place.Backup, acked: next}
	if place.InSync {
		p.phase = inSync
	}
	return p
}

const (
	// transferBytes is about how many bytes of rows one part of a transfer has.
	transferBytes = 1 << 20
	// transferAhead is how many entries of the log may be on their way to a backup while parts are
	// sent.
	transferAhead = 8
	// resendBurst is how many entries that are sent again may be on their way to a backup that
	// catches up.
	resendBurst = 32
	// logLimit is where a backup that does not keep up is given up, before it is in sync.
	logLimit = 1 << 14
)

// pump goes on with transfers. It reports whether it has added to the log.
func (j *journal) pump() bool {
	return j.transfer(j.peer) || j.transfer(j.third)
}

// transfer goes on with the transfer to one copy. It reports whether it has added to the log.
//
// The transfer is a part of the log: a mark at its beginning, one part for each entry, a mark at
// its end. So a part is at the place in the log at which its state was taken, and the copy applies
// the entries behind it as any other. When the end is acknowledged the primary begins to wait for
// the copy, and asks the scheduler to make it promotable when the copy has all that was committed
// before that.
//
// A mark or a part is appended only when all changes in the log are committed: a change that is not
// would reach the copy neither in the state nor in its log.
func (j *journal) transfer(p *peer) bool {
	if p == nil || p.phase >= ended {
		return false
	}
	if j.commit < j.changed {
		if p.blocked == 0 {
			p.blocked = max(1, j.now)
		}
		return false
	}
	p.blocked = 0
	switch p.phase {
	case waiting:
		p.phase, p.acked = streaming, j.next
		j.me.Out.Report(ps.EventTransfer, wire.Node{Role: wire.Server, Rank: p.replica.Server},
			j.id, j.epoch, "")
		j.appendMarker(kindBegin, nil)
		return true
	case streaming:
		if p.end != 0 {
			if p.acked >= p.end {
				p.phase, p.must = ended, j.commit
			}
			return false
		}
		// Parts are as large as slices: a few are on their way at a time, so that pushes, which go
		// through the same log, do not wait behind the whole state.
		if j.next-p.acked > transferAhead {
			return false
		}
		if p.pos == len(j.order) {
			j.appendMarker(kindEnd, j.appendHead(nil))
			p.end = j.next
			return true
		}
		e := j.order[p.pos]
		if e.sparse != nil {
			j.transferRows(p, e)
			return true
		}
		p.pos++
		j.appendMarker(kindPart, j.appendPart(nil, e))
		return true
	}
	return false
}

// transferRows sends the next rows of a sparse entry. Rows that are made in the meantime come behind
// all others; ones that change before they are sent are wrong on the copy until they are.
func (j *journal) transferRows(p *peer, e *entry) {
	from, n := p.row, e.sparse.Len()
	p.row = min(n, from+max(1, transferBytes/e.sparse.Store.Record()))
	// Each piece has the whole head, so that all pieces are parts like any other.
	b := appendPart(nil, e, e.version, nil, nil, j.updater.AppendState(nil, e.id))
	b = e.sparse.Append(b, from, p.row, p.row == n)
	if p.row == n {
		p.pos, p.row = p.pos+1, 0
	}
	j.appendMarker(kindPart, b)
}

// starved reports whether a transfer has waited for long because pushes follow each other without a
// pause. Then the primary takes in no pushes until the log is committed; workers repeat them.
func (j *journal) starved() bool {
	p := j.third
	return p != nil && p.phase < ended && p.blocked > 0 && j.now-p.blocked > 2*j.me.Timing.Resend
}

// appendMarker adds an entry to the log that changes no value. It is called when all changes are
// committed, so that it carries the state of its place in the log.
func (j *journal) appendMarker(k kind, payload []byte) {
	le := j.newEntry(k)
	le.head()
	le.own = append(le.own, payload...)
	j.append(le)
}

// replicated takes in a backup's acknowledgement. Indices beyond the log are of another epoch's
// log, and mean nothing.
func (j *journal) replicated(m *wire.Message) {
	p, r := j.peer, m.LogReceipt()
	if from := (wire.Replica{Server: m.From.Rank,
		Incarnation: m.Incarnation}); j.third != nil && from == j.third.replica {
		p = j.third
	}
	if p == nil || r.Index > j.next {
		return
	}
	if r.CheckAt != 0 && p == j.peer {
		j.compare(r.CheckAt, r.Checksum, false)
	}
	if r.Index > p.acked {
		p.acked = r.Index
		p.sent = j.now
		if p.again != 0 {
			j.sendAgain(p)
		}
	}
	j.advance()
	j.requestSync(p)
}

// requestSync asks the scheduler to make a copy promotable, once it has everything that was ever
// committed. With the same words it confirms a swap of which the backup knows.
func (j *journal) requestSync(p *peer) {
	switch {
	case j.now < p.asked:
		return
	case p.phase == inSync && (!j.place.Swapped || p.acked < p.turn), p.phase < ended,
		p.acked < p.must:
		return
	}
	p.asked = j.now + j.me.Timing.Resend
	m := j.me.Message(wire.TypeInSync)
	m.Shard, m.Epoch = j.id, j.epoch
	m.SetCopyIncarnation(p.replica.Incarnation)
	j.me.Send(node.Scheduler, m, nil)
}

// tickPeers sends entries again that a copy has not acknowledged. A new copy that cannot keep up
// with the log is given up, for the log keeps all entries that it lacks.
func (j *journal) tickPeers() {
	for _, p := range [...]*peer{j.peer, j.third} {
		if p == nil {
			continue
		}
		j.advance()
		j.requestSync(p)
		if p.acked < j.next && j.now-p.sent >= j.me.Timing.Resend {
			p.again = p.acked
			j.sendAgain(p)
		}
		if p.phase < ended && j.log.Len() > logLimit {
			j.diverged(p, "it does not keep up")
		}
	}
}

// sendAgain sends a copy that has missed entries the next of them. It takes entries in their
// order only, so that new ones are lost on it until it has all before them; many on their way let
// it catch up at the pace of the connection.
func (j *journal) sendAgain(p *peer) {
	for p.again = max(p.again, p.acked); p.again < min(j.next, p.acked+resendBurst); {
		p.again++
		if le := j.log.At(p.again); le != nil {
			j.sendEntry(p, le)
		}
	}
	if p.again == j.next {
		p.again = 0 // from here on the backup has everything that is sent
	}
}

// diverged asks the scheduler to drop a copy. Until the next view nothing changes: only the
// scheduler may say that the primary commits without it.
func (j *journal) diverged(p *peer, why string) {
	j.me.Out.Report(ps.EventDiverged, wire.Node{Role: wire.Server, Rank: p.replica.Server},
		j.id,
		j.epoch, why)
	m := j.me.Message(wire.TypeDiverged)
	m.Shard, m.Epoch = j.id, j.epoch
	m.SetCopyIncarnation(p.replica.Incarnation)
	j.me.Send(node.Scheduler, m, nil)
}

// turn begins the log of a primary that has changed places with its backup. The mark is the first
// entry; a repeated swap waits until the backup has acknowledged it.
func (j *journal) turn() {
	j.peer.turn = j.next + 1
	j.appendMarker(kindTurn, nil)
}
