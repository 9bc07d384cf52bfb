package server

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// journal is the log of a primary: it appends entries, sends them to the backup, and commits the
// entries that both copies have.
//
// Invariants:
//  1. commit <= next; the log holds exactly the entries that some copy lacks, up to next.
//  2. A primary that needs its backup never commits an entry that the backup has not acknowledged.
type journal struct {
	*host
	*seat
	*replica
	next      uint64 // index of the last entry appended
	log       logRing
	peer      *peer // nil: there is no backup
	checks    [8]checkpoint
	busy      bool               // advance is running
	committed func(le *logEntry) // called for every entry after it has been applied
}

// append adds an entry to the log, sends it to the backup, and commits all that may be committed.
func (j *journal) append(le *logEntry) {
	j.next++
	le.index = j.next
	j.log.push(le)
	if j.peer != nil {
		j.sendEntry(le)
	}
	j.advance()
}

// appendTo adds an entry that concerns e.
func (j *journal) appendTo(e *entry, le *logEntry) {
	le.entry, le.id, le.slices, le.dtype, le.total, le.direct = e, e.id, e.slices, uint8(e.dtype),
		e.total, e.direct
	j.append(le)
}

// sendEntry passes a log entry to the backup.
func (j *journal) sendEntry(le *logEntry) {
	m := j.me.Message(wire.TypeReplicate)
	m.Shard, m.Epoch = j.id, j.epoch
	m.SetLogPlace(wire.LogPlace{Index: le.index, Clock: le.clock, Kind: uint8(le.kind)})
	m.Key, m.Slice, m.Slices, m.DType, m.Codec, m.Total = le.id.Key, le.id.Slice, le.slices,
		le.dtype, le.codec, le.total
	if le.rows {
		m.Flags |= wire.FlagRows
	}
	if le.direct {
		m.Flags |= wire.FlagDirect
	}
	m.Payload = le.body()
	var hold *ps.Loan
	if le.buf != nil {
		hold = le.buf.lend()
	} else {
		// The entry may be recycled before the outbox is emptied.
		m.Payload = j.keep(m.Payload)
	}
	j.me.Send(wire.Node{Role: wire.Server, Rank: j.place.Backup.Server}, m, hold)
	j.peer.sent = j.now
}

// limit returns up to which index the primary may commit.
func (j *journal) limit() uint64 {
	if j.peer != nil && j.peer.phase >= ended {
		return min(j.next, max(j.commit, j.peer.acked))
	}
	return j.next
}

// advance applies the entries that may be committed, and forgets the ones that all copies have.
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
		keep := j.commit
		if j.peer != nil {
			keep = min(keep, j.peer.acked)
		}
		for !j.log.Empty() && j.log.First <= keep {
			j.recycle(j.log.Pop())
		}
	}
	j.busy = false
}

// checkpoint is a comparison of two copies at an index.
type checkpoint struct {
	index        uint64
	mine, theirs uint32
	have         uint8 // 1: mine, 2: theirs
}

// checkpoint notes the primary's checksum where copies are compared.
func (j *journal) checkpoint(le *logEntry) {
	if j.peer != nil && j.peer.phase >= ended && j.due(le) {
		j.compare(le.index, j.sum(j.concerned(le)), true)
	}
}

// compare notes one side's checksum and reports a difference.
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
		j.diverged(fmt.Sprintf("checksum %#x at entry %d, the primary has %#x", c.theirs, index,
			c.mine))
	}
}

// kind is the effect of a log entry (wire.LogPlace.Kind).
type kind uint8

const (
	kindInit   kind = iota + 1 // creates an entry; the payload is its value
	kindRound                  // closes a round; the payload is the sum
	kindDirect                 // one push of a key without rounds
	kindSkip                   // a push that changes nothing, because it is late or known
	kindTick                   // ends a worker's clock
	kindJoin                   // a new incarnation of a worker
	kindSpec                   // sets the optimizer
	kindStart                  // where that begins, when rounds have closed without it
	kindBegin                  // a transfer begins: the backup forgets its state
	kindPart                   // the state of one entry, for a new backup
	kindEnd                    // a transfer ends; the payload is the rest of the shard's state
	// the log of a primary begins that was the backup, and whose backup was the primary
	kindTurn
	lastKind = kindTurn
)

// logEntry is a change of a shard's replicated state, on its way to all copies.
type logEntry struct {
	kind   kind
	index  uint64
	id     ps.ID
	slices uint16
	dtype  uint8
	codec  uint8
	rows   bool
	direct bool
	total  uint64
	clock  uint64
	n      int     // contributors, in the head of the payload
	buf    *buffer // head and payload; small kinds use own
	own    []byte  // head and payload of small kinds
	entry  *entry
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

// recycle takes back a log entry that nobody needs any more.
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
