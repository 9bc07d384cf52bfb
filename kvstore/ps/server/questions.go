package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// A question that cannot be answered yet waits on the server and is answered as soon as it can be:
// when the entry that it is about is in the log, or when the server knows the view that its sender
// knows. Workers repeat their questions because messages get lost.

// questions keeps the questions about a shard that cannot be answered yet.
type questions struct {
	*host
	*seat
	*replica
	*journal
	asks  []asked               // in the order in which they came
	again func(m *wire.Message) // handles a question that can be answered now
}

// asked is a question about a shard that waits.
type asked struct {
	m     wire.Message // without its payload, which an answer does not need
	until ps.Time      // forgotten then, unless it is repeated
}

// park lets a question wait. A worker that repeats one is told for which node it waits. The number
// of questions that a worker may let wait has a bound, as the number of its pulls has: a question
// beyond it is dropped, and comes again.
func (q *questions) park(m *wire.Message, on wire.Node) {
	mine := 0
	for i := range q.asks {
		a := &q.asks[i]
		if a.m.From != m.From {
			continue
		}
		if a.m.Seq == m.Seq && a.m.Type == m.Type && a.m.Incarnation == m.Incarnation {
			a.until = q.now + q.me.Timing.Park
			q.tellWaiting(m, on)
			return
		}
		mine++
	}
	if mine >= 2*q.cfg.Window {
		return // more than a worker has reason to: it will ask again
	}
	a := asked{m: *m, until: q.now + q.me.Timing.Park}
	a.m.Payload, a.m.Owner = nil, nil
	q.asks = append(q.asks, a)
}

// answerAsks answers the questions about a shard that can be answered now, and forgets questions
// that are not repeated, or whose sender has been replaced.
func (q *questions) answerAsks() {
	kept := q.asks[:0]
	for i := range q.asks {
		a := q.asks[i]
		switch {
		case a.until <= q.now || !q.me.View.Current(a.m.From, a.m.Incarnation):
		case !q.answerable(&a.m):
			kept = append(kept, a)
		default:
			q.again(&a.m)
		}
	}
	clear(q.asks[len(kept):])
	q.asks = kept
}

// answerable reports whether a question can be answered without the payload that it had. The
// conditions are of the committed state, so that an answer never has to be taken back.
func (q *questions) answerable(m *wire.Message) bool {
	if int(m.From.Rank) >= len(q.ranks) {
		return false
	}
	rk := &q.ranks[m.From.Rank]
	switch m.Type {
	case wire.TypeInit:
		return q.entries[ps.ID{Key: m.Key, Slice: m.Slice}] != nil
	case wire.TypeOptimizer:
		return q.spec.Version >= m.SpecVersion()
	case wire.TypeAskCursor:
		return rk.incarnation == m.Incarnation && (m.Flags&wire.FlagStart == 0 || !rk.away)
	}
	return false
}
