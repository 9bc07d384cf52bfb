package server

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// journal is the log of a primary: it appends entries, sends them to the backup, and commits the
// entries that both copies have. A third copy, which is to take the place of the backup, counts
// like the backup as soon as it has the state: entries are then committed that all three have.
//
// The order is the heart of the protocol: an entry is applied, answered and acknowledged only when
// the backup has it. A worker that has seen a value, or the acknowledgement of a push, has seen
// something that survives the loss of either server.
//
// Invariants:
//  1. commit <= next; the log holds exactly the entries that some copy lacks, up to next.
//  2. A primary that needs its backup never commits an entry that the backup has not acknowledged.
//  3. Entries are applied one after the other: applying one may append others (busy).
type journal struct {
	*host
	*seat
	*replica
	next    uint64  // index of the last entry appended
	changed uint64  // index of the last entry appended that is no mark or part of a transfer
	log     logRing // entries by index
	peer    *peer   // the backup; nil: there is none, and the primary commits alone
	third   *peer   // copy that is to take the place of the backup; nil: there is none
	// the last comparisons of the copies, until both checksums of one have come
	checks    [8]checkpoint
	busy      bool               // advance is running
	committed func(le *logEntry) // called for every entry after it has been applied
}

// append adds an entry to the log, sends it to the backup, and commits all that may be committed.
// The log owns the entry from then on, and takes it back to the spare ones when all copies have it.
func (j *journal) append(le *logEntry) {
	j.next++
	le.index = j.next
	if !le.kind.mark() {
		j.changed = j.next
	}
	j.log.push(le)
	for _, p := range [...]*peer{j.peer, j.third} {
		if p != nil {
			j.sendEntry(p, le)
		}
	}
	j.advance()
}

// appendTo adds an entry that concerns e.
func (j *journal) appendTo(e *entry, le *logEntry) {
	le.entry, le.id, le.slices, le.dtype, le.total, le.direct = e, e.id, e.slices, uint8(e.dtype),
		e.total, e.direct
	j.append(le)
}

// sendEntry passes a log entry to a copy. The message refers to the memory of the entry, so that a
// sum goes out without a copy. A copy that has the state gets parts of a transfer without content.
func (j *journal) sendEntry(p *peer, le *logEntry) {
	m := j.me.Message(wire.TypeReplicate)
	m.Shard, m.Epoch = j.id, j.epoch
	m.SetLogPlace(wire.LogPlace{Index: le.index, Clock: le.clock, Kind: uint8(le.kind),
		Attempt: uint8(p.attempt & 127)})
	m.Key, m.Slice, m.Slices, m.DType, m.Codec, m.Total = le.id.Key, le.id.Slice, le.slices,
		le.dtype, le.codec, le.total
	if le.table {
		m.Flags |= wire.FlagRows
	}
	if le.direct {
		m.Flags |= wire.FlagDirect
	}
	if le.sparse {
		m.Flags |= wire.FlagSparse
	}
	m.Payload = le.body()
	if p.phase >= ended && le.kind.mark() {
		m.Payload = m.Payload[:wire.EntrySize(0)]
	}
	var hold *ps.Loan
	if le.buf != nil {
		hold = le.buf.lend()
	} else {
		// The entry may be recycled before the outbox is emptied.
		m.Payload = j.keep(m.Payload)
	}
	j.me.Send(wire.Node{Role: wire.Server, Rank: p.replica.Server}, m, hold)
	if le.index <= p.acked+1 {
		p.sent = j.now
	}
}

// limit returns the index up to which the primary may commit. A backup that is being made does not
// hold up commits: it may not be promoted before it has everything (peer.must).
func (j *journal) limit() uint64 {
	last := j.next
	for _, p := range [...]*peer{j.peer, j.third} {
		if p != nil && p.phase >= ended {
			last = min(last, max(j.commit, p.acked))
		}
	}
	return last
}

// advance applies the entries that may be committed, and forgets the ones that all copies have. It
// goes on with a transfer as soon as there is nothing left to commit, because a part of the state
// must be the state of its place in the log. Calls from within it change nothing: the loop that
// runs sees their entries.
func (j *journal) advance() {
	if j.busy {
		return
	}
	j.busy = true
	for more := true; more; more = j.pump() {
		for j.commit < j.limit() {
			le := j.log.At(j.commit + 1)
			j.commit++
			j.apply(le)
			j.committed(le)
			j.checkpoint(le)
		}
		// Entries stay until the backup has them, to be sent again if they are lost.
		keep := j.commit
		for _, p := range [...]*peer{j.peer, j.third} {
			if p != nil {
				keep = min(keep, p.acked)
			}
		}
		for !j.log.Empty() && j.log.First <= keep {
			j.recycle(j.log.Pop())
		}
	}
	j.busy = false
}

// checkpoint is a comparison of two copies at an index.
type checkpoint struct {
	index        uint64 // of the log entry after which both checksums were taken
	mine, theirs uint32 // checksums of the primary and of the backup
	have         uint8  // 1: mine, 2: theirs, 3: both
}

// checkpoint notes the primary's checksum where copies are compared. A backup that is being made
// has no state to compare yet.
func (j *journal) checkpoint(le *logEntry) {
	if j.peer != nil && j.peer.phase >= ended && j.due(le) {
		j.compare(le.index, j.sum(j.concerned(le)), true)
	}
}

// compare notes one side's checksum and reports a difference, once. Of two indices that fall on the
// same place the later one counts.
func (j *journal) compare(index uint64, sum uint32, mine bool) {
	c := &j.checks[index/j.cfg.CheckEvery%uint64(len(j.checks))]
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
		j.diverged(j.peer, fmt.Sprintf("checksum %#x at entry %d, the primary has %#x", c.theirs,
			index,
			c.mine))
	}
}

// kind is the effect of a log entry (wire.LogPlace.Kind). Numbers are part of the format of
// messages between servers: new kinds go behind the last one.
type kind uint8

const (
	// kindInit creates an entry; the payload is its value.
	kindInit kind = iota + 1
	// kindRound closes a round; the payload is the sum, in plain values, or the rows of a sparse
	// key that somebody has pushed (wire.Sparse). The pushes in the sum are the contributors.
	kindRound
	// kindDirect applies one push of a key without rounds; the payload is as the worker encoded it.
	kindDirect
	// kindSkip notes a push that changes nothing, because it is late or known.
	kindSkip
	// kindFormer was a step of tables in earlier releases.
	kindFormer
	// kindJoin lets a new incarnation of a worker in. Sequences begin at 1 again.
	kindJoin
	// kindSpec sets the optimizer; the payload is a wire.Spec.
	kindSpec
	// kindStart says where an incarnation begins when rounds have closed without it; the payload is
	// a wire.StartPoint: round, push and step, 8 bytes each.
	kindStart
	// kindBegin begins a transfer: the backup forgets its state.
	kindBegin
	// kindPart is the state of one entry, for a new backup (replica.appendPart). A sparse entry has
	// several, each with some of its rows.
	kindPart
	// kindEnd ends a transfer; the payload is the rest of the shard's state (replica.appendHead).
	kindEnd
	// kindTurn begins the log of a primary that was the backup, and whose backup was the primary.
	kindTurn
	lastKind = kindTurn
)

// known reports whether this release has entries of a kind.
func (k kind) known() bool { return k > 0 && k <= lastKind && k != kindFormer }

// mark reports whether entries of a kind belong to a transfer, and change nothing on copies that
// have the state.
func (k kind) mark() bool { return k == kindBegin || k == kindPart || k == kindEnd }

// How a worker comes, in the total of a kindJoin.
const (
	joinAway   = 1 // rounds close without it until it has said where it starts
	joinEnters = 2 // rounds wait for it, keys without rounds and tables do not
)

// logEntry is a change of a shard's replicated state, on its way to all copies. Its body is a head,
// which lists the pushes in it, and a payload. Large bodies are in a buffer of the entry that they
// change, which can become its value; small ones are in memory of the log entry, which is used
// again.
type logEntry struct {
	kind   kind
	index  uint64 // place in the log, from 1 on
	id     ps.ID  // of the slice; kindJoin and kindStart have the worker's rank in Key
	slices uint16 // of the key
	dtype  uint8  // a dtype.Type
	codec  uint8  // encoding of the payload
	table  bool   // kindInit: the key is a table
	direct bool   // kindInit: the key has no rounds
	sparse bool   // kindInit: the key has rows that are made when they are touched
	// bytes of the key; kindJoin: joinAway or joinEnters
	total uint64
	// of a round or push: its number; kindInit of a table: the step in which it is made; kindJoin
	// and kindStart: the incarnation; kindSpec: the version
	clock uint64
	n     int     // contributors, in the head of the payload
	buf   *buffer // head and payload; small kinds use own
	own   []byte  // head and payload of small kinds
	entry *entry  // that the log entry changes; nil: it is not about one, or it is not here yet
}

// body returns head and payload.
func (le *logEntry) body() []byte {
	if le.buf != nil {
		return le.buf.entry(le.n)
	}
	return le.own
}

// logRing is a queue of log entries with consecutive indices.
type logRing struct{ node.Window[logEntry] }

// reset says that the next entry will have index after+1.
func (q *logRing) reset(after uint64) { q.First = after + 1 }

// push appends an entry. An empty queue may go on with any index: a log begins anew with a
// promotion.
func (q *logRing) push(le *logEntry) {
	if q.Empty() {
		q.First = le.index
	}
	q.Window.Push(le)
}

// newEntry returns a blank log entry.
func (h *host) newEntry(k kind) *logEntry {
	n := len(h.spare)
	if n == 0 {
		return &logEntry{kind: k}
	}
	le := h.spare[n-1]
	h.spare = h.spare[:n-1]
	*le = logEntry{kind: k, own: le.own[:0]}
	return le
}

// recycle takes back a log entry that nobody needs any more. It keeps small memory of its own for
// the next one, and lets large memory go: an entry with a new key's value is rare.
func (h *host) recycle(le *logEntry) {
	le.buf.release()
	*le = logEntry{own: le.own[:0]}
	if cap(le.own) > 1<<16 {
		le.own = nil
	}
	h.spare = append(h.spare, le)
}

// head prepares the own body of a small entry: contributors first, then payload.
func (le *logEntry) head(cs ...wire.Contributor) {
	le.n = len(cs)
	size := wire.EntrySize(le.n)
	for len(le.own) < size {
		le.own = append(le.own, 0)
	}
	wire.PutEntry(le.own[:size], le.n)
	for i, c := range cs {
		wire.PutContributor(le.own[:size], i, c)
	}
}
