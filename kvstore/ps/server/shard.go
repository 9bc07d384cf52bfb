package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// role is the part of a server in a shard. It changes with views only.
type role uint8

const (
	none role = iota
	primary
	backup
)

// seat is which shard a copy is of, and the part that the server has in it.
type seat struct {
	id    uint32     // number of the shard
	role  role       // of this server
	epoch uint64     // of the log that this copy writes or follows
	place wire.Shard // as the view says
}

// shard is a server's copy of one shard, put together of its parts. Parts use each other in one
// direction; the journal and the questions call back by functions.
type shard struct {
	*host
	seat
	replica
	journal
	ledger
	pulls
	questions
	creation
	admission
	intake
	follower
	snapshots
}

// newShard returns an empty copy of a shard.
func newShard(h *host, r *rounds, id uint32, place wire.Shard) *shard {
	sh := &shard{host: h, seat: seat{id: id, epoch: place.Epoch, place: place}}
	at, rp, j := &sh.seat, &sh.replica, &sh.journal
	sh.replica = newReplica(h, at)
	sh.journal = journal{host: h, seat: at, replica: rp, committed: sh.hasCommitted}
	sh.ledger = ledger{host: h, seat: at, replica: rp, receipts: make([]receipt, h.cfg.Workers)}
	sh.pulls = pulls{host: h, seat: at, replica: rp, journal: j, ledger: &sh.ledger}
	sh.questions = questions{host: h, seat: at, replica: rp, journal: j, again: sh.askAgain}
	sh.creation = creation{h, at, rp, j, &sh.questions}
	sh.admission = admission{h, at, rp, j, &sh.ledger, &sh.questions}
	sh.intake = intake{h, at, rp, r, j, &sh.ledger, &sh.pulls}
	sh.follower = follower{host: h, seat: at, replica: rp, journal: j}
	sh.snapshots = snapshots{host: h, seat: at, replica: rp}
	return sh
}

// askAgain handles a question that can be answered now. It has lost its payload, which only the
// optimizer's handler would read again.
func (sh *shard) askAgain(m *wire.Message) {
	if m.Type == wire.TypeOptimizer {
		sh.answerOptimizer(m)
		return
	}
	sh.fromWorker(m)
}

// fromServer takes in a message of the log. Only the other copies of the view speak about it, in
// the parts that the view gives them.
func (sh *shard) fromServer(m *wire.Message) {
	from := wire.Replica{Server: m.From.Rank, Incarnation: m.Incarnation}
	switch {
	case m.Type == wire.TypeReplicate && sh.role == backup && from == sh.place.Primary:
		sh.replicate(m)
	case m.Type == wire.TypeReplicated && sh.role == primary && (from == sh.place.Backup ||
		from == sh.place.Third):
		sh.replicated(m)
	case m.Type == wire.TypeReplicated && sh.role == primary:
		// Late, of a copy that another one has replaced in this epoch.
	default:
		sh.refuse(m, "not its place")
	}
}

// fromWorker takes in a message of a worker whose incarnation the view names, in the shard's epoch.
func (sh *shard) fromWorker(m *wire.Message) {
	if int(m.From.Rank) >= len(sh.ranks) && m.Type != wire.TypeAskCursor {
		return // it has not been let in: it will ask again
	}
	switch m.Type {
	case wire.TypePush, wire.TypePushPull, wire.TypeProbe:
		sh.push(m)
	case wire.TypePull:
		sh.pull(m)
	case wire.TypeInit:
		sh.init(m)
	case wire.TypeOptimizer:
		sh.setOptimizer(m)
	case wire.TypeAskCursor:
		sh.cursor(m)
	default:
		sh.refuse(m, "not for a server")
	}
}

// hasCommitted draws the consequences of a log entry for workers. It runs on the primary after
// apply: rounds that are over are freed, pulls and questions that waited are answered, pushes
// acknowledged. Acknowledgements come last, because a value that has just been sent acknowledges
// its push.
func (sh *shard) hasCommitted(le *logEntry) {
	body, _ := wire.DecodeEntry(le.body())
	e := le.entry
	if le.kind == kindJoin {
		// Pushes that were committed since the join was put into the log are the incarnation
		// before's.
		sh.receipt(int(le.id.Key)).forget()
	}
	if le.kind == kindInit {
		e = sh.entries[le.id]
	}
	if e != nil && le.kind == kindRound {
		for len(e.rounds) > 0 && e.rounds[0].clock <= e.version {
			sh.freeRound(e.rounds[0])
			e.rounds = append(e.rounds[:0], e.rounds[1:]...)
		}
		sh.capture(e)
	}
	if e != nil && len(e.parked) > 0 {
		sh.unpark(e)
	}
	if le.kind == kindJoin || le.kind == kindStart {
		for _, e := range sh.order {
			sh.closeRounds(e)
			sh.unpark(e)
		}
	}
	if len(sh.asks) > 0 && (le.kind == kindInit || le.kind == kindSpec || le.kind == kindJoin ||
		le.kind == kindStart) {
		sh.answerAsks()
	}
	sh.ackPushes(&body)
}

// flush sends the acknowledgements that a shard owes: one message to the primary or to each worker,
// for all messages that came since the last time.
func (sh *shard) flush() {
	if sh.follower.answer {
		sh.follower.answer = false
		sh.answerPrimary()
	}
	if sh.role == primary {
		sh.sendAcks()
	}
}

// tickPrimary repeats messages without an answer and drops pulls that are not repeated. It looks
// through them four times in the time for which a pull is kept.
func (sh *shard) tickPrimary() {
	sh.overdue()
	sh.tickPeers()
	if sh.parked+len(sh.asks) == 0 || sh.now < sh.swept {
		return
	}
	sh.swept = sh.now + sh.me.Timing.Park/4
	sh.answerAsks()
	for _, e := range sh.order {
		if len(e.parked) > 0 {
			sh.unpark(e)
		}
	}
}

// membersChanged looks at everything that depends on which workers count: rounds that waited for a
// worker may close now, and new incarnations must be let in before their first push.
func (sh *shard) membersChanged() {
	for r := range sh.me.View.Workers {
		m, known := &sh.me.View.Workers[r], uint32(0)
		if r < len(sh.ranks) {
			known = sh.ranks[r].incarnation
		}
		if m.Incarnation > known && !sh.joining(r, m.Incarnation) {
			sh.appendJoin(r, m.Incarnation, m.Enter > known)
		}
	}
	sh.advance()
	for _, e := range sh.order {
		sh.closeRounds(e)
		sh.unpark(e)
	}
}

// promote turns a backup into the primary: its state is the whole truth, with the log of one that
// was the primary before. Workers repeat all pushes that are not in it, which makes open rounds
// again.
func (sh *shard) promote() {
	// A server that was the primary before a swap, and whose successor died before it was heard of,
	// goes on with its whole tail: that is at least all that anybody has seen.
	sh.cut(never)
	sh.role = primary
	sh.next, sh.changed = sh.commit, sh.commit
	sh.log.reset(sh.commit)
	sh.forgetAll()
	for _, e := range sh.order {
		e.closed = e.version
	}
	sh.me.Out.Report(ps.EventPromoted, sh.me.Self, sh.id, sh.place.Epoch, "")
}

// close gives up a copy and frees its memory, when the last message that refers to it has been
// sent.
func (sh *shard) close() {
	sh.dropSnapshot()
	for _, e := range sh.order {
		e.close(sh.rounds)
	}
	for !sh.log.Empty() {
		sh.recycle(sh.log.Pop())
	}
	sh.forgetAll()
	sh.entries, sh.order, sh.asks = nil, nil, nil
}

// demote turns a primary into the backup of the server with which it changed places. Pushes that
// are not in the log are forgotten: workers send them to the other.
func (sh *shard) demote() {
	sh.dropSnapshot()
	sh.role, sh.tail, sh.peer, sh.third = backup, true, nil, nil
	for _, e := range sh.order {
		for _, rd := range e.rounds {
			sh.freeRound(rd)
		}
		clear(e.rounds)
		clear(e.parked)
		e.rounds, e.parked = e.rounds[:0], e.parked[:0]
	}
	sh.parked, sh.asks = 0, nil
	clear(sh.waiting)
	sh.forgetAll()
	// Comparisons are between a primary and its backup, which this copy was not.
	sh.checks, sh.checkAt = [len(sh.checks)]checkpoint{}, 0
	sh.me.Out.Report(ps.EventSwapped, sh.me.Self, sh.id, sh.place.Epoch, "backup from now on")
}
