package ps

import "gomx/kvstore/wire"

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
	id     ID
	slices uint16
	dtype  uint8
	codec  uint8
	rows   bool
	direct bool
	total  uint64
	clock  uint64
	n      int     // contributors, in the head of the payload
	buf    *Buffer // head and payload; small kinds use own
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
type logRing struct{ window[logEntry] }

// reset says that the next entry will have index after+1.
func (q *logRing) reset(after uint64) { q.first = after + 1 }

func (q *logRing) push(le *logEntry) {
	if q.empty() {
		q.first = le.index
	}
	q.window.push(le)
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
