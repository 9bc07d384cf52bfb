package ps

import "gomx/kvstore/wire"

// A question that cannot be answered yet waits on the server and is answered as soon as it can be: when the entry that it is about is
// in the log, or when the server knows the view that its sender knows. Workers repeat their questions because messages get lost.

// asked is a question about a shard that waits.
type asked struct {
	m       wire.Message // without its payload
	version uint64       // of the optimizer that it wants to be set
	until   Time         // forgotten then, unless it is repeated
}

// park lets a question wait. Who repeats one is told whom it waits for.
func (s *Server) park(sh *shard, m *wire.Message, on wire.Node) {
	mine := 0
	for i := range sh.asks {
		a := &sh.asks[i]
		if a.m.From != m.From {
			continue
		}
		if a.m.Seq == m.Seq && a.m.Type == m.Type && a.m.Incarnation == m.Incarnation {
			a.until = s.now + s.timing.Park
			s.tellWaiting(sh, m, on)
			return
		}
		mine++
	}
	if mine >= 2*s.cfg.Window {
		return // more than a worker has reason to: it will ask again
	}
	a := asked{m: *m, until: s.now + s.timing.Park}
	a.m.Payload, a.m.Owner = nil, nil
	sh.asks = append(sh.asks, a)
}

// answerAsks answers the questions about a shard that can be answered now, and forgets those that nobody repeats.
func (s *Server) answerAsks(sh *shard) {
	kept := sh.asks[:0]
	for i := range sh.asks {
		a := sh.asks[i]
		switch {
		case a.until <= s.now || !s.view.Current(a.m.From, a.m.Incarnation):
		case !s.answerable(sh, &a.m):
			kept = append(kept, a)
		case a.m.Type == wire.TypeOptimizer:
			s.answerOptimizer(sh, &a.m)
		default:
			s.fromWorker(sh, &a.m)
		}
	}
	clear(sh.asks[len(kept):])
	sh.asks = kept
}

// answerable reports whether a question can be answered without the payload that it had.
func (s *Server) answerable(sh *shard, m *wire.Message) bool {
	rk := &sh.ranks[m.From.Rank]
	switch m.Type {
	case wire.TypeInit:
		return sh.entries[ID{m.Key, m.Slice}] != nil
	case wire.TypeOptimizer:
		return sh.spec.Version >= m.SpecVersion()
	case wire.TypeAskCursor:
		return rk.incarnation == m.Incarnation && (m.Flags&wire.FlagStart == 0 || !rk.away)
	}
	return false
}

// earlyBytes is how much of what came before the view that it needs is kept.
const earlyBytes = 1 << 20

// early keeps a message of a worker that knows a newer view than the server, which asks for it. Pushes are repeated from the first
// gap on: keeping one of them would help little.
func (s *Server) early(m *wire.Message) {
	s.asked = true
	if m.From.Role != wire.Worker || m.Type == wire.TypePush || m.Type == wire.TypePushPull || m.Type == wire.TypeTick {
		return
	}
	bytes := wire.HeaderSize + len(m.Payload)
	for i := range s.ahead {
		if a := &s.ahead[i]; a.From == m.From && a.Seq == m.Seq && a.Type == m.Type && a.Incarnation == m.Incarnation {
			return
		}
		bytes += wire.HeaderSize + len(s.ahead[i].Payload)
	}
	if bytes > earlyBytes {
		return
	}
	c := *m
	c.Payload, c.Owner = append([]byte(nil), m.Payload...), nil
	s.ahead = append(s.ahead, c)
}

// catchUp handles what came before the view that it needs.
func (s *Server) catchUp() {
	list := s.ahead
	s.ahead = nil
	for i := range list {
		s.dispatch(&list[i])
	}
}
