package ps

import (
	"gomx/dtype"
	"gomx/kvstore/wire"
)

// role is what a server is for a shard.
type role uint8

const (
	none role = iota
	primary
	backup
)

// shard is a server's copy of one shard. Its replicated part (entries, ranks, index) is changed by apply only, in the order of the
// log, so that all copies go through the same states.
//
// Invariants:
//  1. commit <= next; the log holds exactly the entries above what all copies have, up to next.
//  2. A primary that needs its backup never commits an entry that the backup has not acknowledged.
//  3. entry.version <= entry.closed; rounds exist only above version.
type shard struct {
	id    uint32
	role  role
	epoch uint64
	place wire.Shard // as the view says

	// Replicated.
	entries map[ID]*entry
	order   []*entry // in the order of their creation, which is that of the log
	ranks   []rankState
	commit  uint64 // index of the last entry applied
	spec    wire.Spec
	updater Updater

	busy      bool // advance is running
	restoring bool // a snapshot is being read

	// Of a primary.
	next     uint64 // index of the last entry appended
	log      logRing
	peer     *peer
	receipts []receipt
	parked   int
	waiting  []int    // of those, by rank
	swept    Time     // when parked pulls and questions are looked at next
	asks     []asked  // questions that wait for the log
	rows     []parked // pulls of rows, which wait for ticks
	checks   [8]checkpoint
	snap     *snapshot

	// Of a backup.
	rebuilding bool // a transfer has begun and not ended
	blank      bool // waits for a transfer to begin
	tail       bool // was the primary, and does not know yet how much of its log counts
	answer     bool // owes the primary an acknowledgement
	checkAt    uint64
	checkSum   uint32
}

// rankState is what a shard knows about one worker's pushes. It is replicated.
type rankState struct {
	incarnation uint32
	low         uint64   // all sequences up to low are in the log
	bits        []uint64 // which of the sequences from low+1 to low+window are
	fates       []uint64 // outcomes of the sequences around low, 2 bits each, for those who ask again
	tick        uint64
	away        bool // has joined and not said where it starts: nobody waits for its ticks
}

// has reports whether a sequence is in the log.
func (r *rankState) has(seq uint64) bool {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low {
		return true
	}
	return seq-r.low <= n && r.bits[seq/64%uint64(len(r.bits))]&(1<<(seq%64)) != 0
}

// outcome returns what became of a sequence that is in the log.
func (r *rankState) outcome(seq uint64) wire.Outcome {
	return wire.Outcome(r.fates[seq/32%uint64(len(r.fates))]>>(seq%32*2)&3) + wire.Applied
}

// mark records that a sequence is in the log.
func (r *rankState) mark(seq uint64, o wire.Outcome) {
	n := uint64(len(r.bits)) * 64
	if seq <= r.low || seq-r.low > n {
		return
	}
	word := &r.fates[seq/32%uint64(len(r.fates))]
	*word = *word&^(3<<(seq%32*2)) | uint64(o-wire.Applied)<<(seq%32*2)
	r.bits[seq/64%uint64(len(r.bits))] |= 1 << (seq % 64)
	for {
		s := r.low + 1
		word := &r.bits[s/64%uint64(len(r.bits))]
		if *word&(1<<(s%64)) == 0 {
			return
		}
		*word &^= 1 << (s % 64)
		r.low = s
	}
}

// join makes room for a new incarnation of the worker, whose sequences begin at 1.
func (r *rankState) join(incarnation uint32) {
	r.incarnation, r.low = incarnation, 0
	clear(r.bits)
	clear(r.fates)
}

// receipt is what a primary owes one worker. It is not replicated.
type receipt struct {
	received uint64 // sequences up to here have been taken in
	told     uint64 // the worker knows of those up to here
	since    Time   // when the first of those it does not know came
	bytes    int    // how much they hold
	gap      bool
	probed   bool // the next acknowledgement answers a probe
	now      bool // answer at once
	acks     []byte
	step     step
}

// forget begins anew, with a worker's new incarnation or after a change of the primary.
func (rc *receipt) forget(s *Server) {
	s.stats.Held -= uint64(len(rc.step.bytes))
	rc.step.clear()
	*rc = receipt{acks: rc.acks[:0], step: rc.step}
}

// entry is one slice of a key.
type entry struct {
	id      ID
	slices  uint16
	dtype   dtype.Type
	direct  bool   // pushes are applied one by one
	total   uint64 // bytes of the key; of a row when it is a block of a table
	size    int    // bytes of the slice
	row     int    // bytes of a row, 0 when it is no table
	pool    *pool
	value   *Buffer
	prev    *Buffer // the version before
	version uint64
	clocks  []uint64 // last committed push of each rank
	starts  []uint64 // rounds up to here do not wait for a rank; never while it has not said where it starts

	// Of a primary.
	closed uint64   // last round in the log
	rounds []*round // rounds above version, in order
	parked []parked
	since  uint64 // index of the entry that created it
}

// clock returns the version that a puller may rely on: for rounds the last one applied, otherwise the lowest clock of the workers
// that count.
func (e *entry) clock(s *Server, sh *shard) uint64 {
	if !e.direct {
		return e.version
	}
	low := uint64(1<<64 - 1)
	for r, c := range e.clocks {
		if s.counts(r) && e.starts[r] != never {
			low = min(low, c)
		}
	}
	if low == 1<<64-1 {
		return e.version
	}
	return low
}

// open returns the round with a clock, if it has begun.
func (e *entry) open(clock uint64) *round {
	for _, rd := range e.rounds {
		if rd.clock == clock {
			return rd
		}
	}
	return nil
}

// never is the start of a worker that has not said where it starts.
const never = 1<<64 - 1

// counts reports whether anybody waits for a worker.
func (s *Server) counts(rank int) bool {
	m := &s.view.Workers[rank]
	return !m.Left && (s.cfg.Policy == Wait || m.Alive)
}

// expects reports whether a round of an entry waits for a worker.
func (s *Server) expects(e *entry, rank int, clock uint64) bool {
	return s.counts(rank) && clock > e.starts[rank]
}

// loose reports whether rounds may close without a worker.
func (s *Server) loose() bool { return s.cfg.Policy == Shrink || s.cfg.Backups > 0 }

// parked is a pull that waits.
type parked struct {
	from  wire.Node
	inc   uint32
	seq   uint64
	fused bool
	exact bool
	need  uint64
	own   uint64
	until Time
	entry *entry
	rows  []byte // of a table, nil for the whole value
}

// adoptShards makes the server's copies agree with its view.
func (s *Server) adoptShards() {
	me := wire.Replica{Server: s.self.Rank, Incarnation: s.inc}
	for len(s.shards) < len(s.view.Shards) {
		s.shards, s.had = append(s.shards, nil), append(s.had, false)
	}
	for i := range s.view.Shards {
		place := s.view.Shards[i]
		sh := s.shards[i]
		switch {
		case place.Primary == me:
			s.lead(uint32(i), place)
		case place.Backup == me:
			s.follow(uint32(i), place)
		case sh != nil:
			s.out.event(EventDropped, s.self, uint32(i), place.Epoch, "")
			sh.close(s)
			s.shards[i] = nil
		}
	}
	for _, sh := range s.shards {
		if sh != nil && sh.role == primary {
			s.membersChanged(sh)
		}
	}
}

// fresh returns an empty copy of a shard, or one from the snapshot that the job continues from.
func (s *Server) fresh(id uint32, place wire.Shard) *shard {
	sh := &shard{id: id, epoch: place.Epoch, place: place, entries: map[ID]*entry{}, updater: Updater(noUpdater{})}
	if s.cfg.Updater != nil {
		sh.updater = s.cfg.Updater(id)
	}
	sh.ranks = make([]rankState, s.cfg.Workers)
	sh.receipts = make([]receipt, s.cfg.Workers)
	for i := range sh.ranks {
		sh.ranks[i].bits = make([]uint64, s.cfg.Window/64)
		sh.ranks[i].fates = make([]uint64, 2*s.cfg.Window/32)
	}
	s.shards[id], s.had[id] = sh, true
	return sh
}

// lead makes the server the primary of a shard, or lets it stay so in a new view.
func (s *Server) lead(id uint32, place wire.Shard) {
	sh := s.shards[id]
	switch {
	case sh == nil && !s.had[id]:
		// We have never acknowledged anything about this shard. So it has been ours in sync since the beginning, and nothing can have
		// been committed without us: the empty copy is complete.
		sh = s.fresh(id, place)
		s.restore(sh)
		sh.role = primary
		sh.next = sh.commit
	case sh == nil || sh.role == backup && (sh.blank || sh.rebuilding):
		s.out.event(EventLost, s.self, id, place.Epoch, "made primary without a complete copy")
		if sh != nil {
			sh.close(s)
			s.shards[id] = nil
		}
		return
	case sh.role == backup:
		sh.promote(s)
	}
	if sh.epoch != place.Epoch || sh.place.Backup != place.Backup {
		sh.peer = nil
	}
	sh.epoch, sh.place = place.Epoch, place
	switch {
	case place.Backup.IsZero():
	case sh.peer == nil:
		sh.peer = newPeer(place, sh.next)
		if place.Swapped {
			s.turn(sh)
		}
	case place.InSync:
		sh.peer.phase = inSync
	}
}

// promote turns a backup into the primary: what it has applied is the whole truth, and for one that was the primary before, what it
// has in its log.
func (sh *shard) promote(s *Server) {
	s.cut(sh, never)
	sh.role = primary
	sh.next = sh.commit
	sh.log.reset(sh.commit)
	for i := range sh.receipts {
		sh.receipts[i].forget(s)
	}
	for _, e := range sh.order {
		e.closed = e.version
	}
	s.out.event(EventPromoted, s.self, sh.id, sh.place.Epoch, "")
}

// follow makes the server a backup of a shard.
func (s *Server) follow(id uint32, place wire.Shard) {
	sh := s.shards[id]
	initial := sh == nil && !s.had[id] && place.InSync // as in lead
	keep := sh != nil && sh.role == backup && sh.epoch == place.Epoch
	if sh != nil && sh.role == primary && place.Swapped && place.Epoch == sh.epoch+1 {
		s.demote(sh)
		keep = true
	}
	if !keep {
		if sh != nil {
			sh.close(s)
		}
		sh = s.fresh(id, place)
		sh.role = backup
		sh.blank = !initial
		if initial {
			s.restore(sh)
		}
	}
	sh.epoch, sh.place = place.Epoch, place
}

// close gives up a copy.
func (sh *shard) close(s *Server) {
	for _, e := range sh.order {
		e.close(s)
	}
	for !sh.log.empty() {
		s.recycle(sh.log.pop())
	}
	for i := range sh.receipts {
		sh.receipts[i].forget(s)
	}
	sh.entries, sh.order, sh.asks = nil, nil, nil
}

func (e *entry) close(s *Server) {
	for _, rd := range e.rounds {
		s.freeRound(rd)
	}
	e.rounds = nil
	e.value.release()
	e.prev.release()
	e.value, e.prev = nil, nil
	e.pool.close()
}

// membersChanged looks at everything that depends on which workers count.
func (s *Server) membersChanged(sh *shard) {
	for r := range sh.ranks {
		m := &s.view.Workers[r]
		if m.Incarnation > sh.ranks[r].incarnation && !s.joining(sh, r, m.Incarnation) {
			s.appendJoin(sh, r, m.Incarnation)
		}
	}
	s.advance(sh)
	for _, e := range sh.order {
		s.closeRounds(sh, e)
		s.unpark(sh, e)
	}
	s.unparkRows(sh)
}
