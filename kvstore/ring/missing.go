package ring

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Nothing is acknowledged slice by slice. A worker whose round makes no progress asks the others
// for the slices that it lacks, and gets their sums, or the contributions that it is to add up
// itself. Messages that were lost, and messages to a process that has died, are made up for in the
// same way.

// askEveryone is the number of questions without an answer after which a worker asks all others for
// all slices: a worker that has died may have sent sums to some of them.
const askEveryone = 2

// ask asks other workers for the slices that a call lacks.
func (g *calls) ask(c *call) {
	c.asked++
	c.askAt = g.now + g.cfg.Timing.Resend<<min(c.asked-1, 4) // answers may take long
	k := c.key
	all := c.asked >= askEveryone || k.pull == c
	for _, l := range g.others {
		var body []byte
		first, last := -1, -1
		for i := range int(k.slices) {
			if c.have[i] || !all && !g.owes(l, k, c.round, uint16(i)) {
				continue
			}
			if first >= 0 && i == last+1 {
				last = i
				continue
			}
			if first >= 0 {
				body = wire.AppendRange(body, uint16(first), uint16(last))
			}
			first, last = i, i
		}
		if first < 0 || l.inc == 0 {
			continue
		}
		m := g.message(wire.TypeMissing, l)
		m.KeySlice = wire.KeySlice{Key: k.id, Slices: k.slices, Total: k.spec.Total}
		m.Clock, m.Payload = c.round, wire.AppendRange(body, uint16(first), uint16(last))
		g.send(l, m)
	}
}

// owes reports whether a slice waits for a worker.
func (g *base) owes(l *link, k *key, round uint64, slice uint16) bool {
	if o := k.owner(slice, g.cfg.Rank); o != g.cfg.Rank {
		return o == l.place
	}
	r := &k.rounds[round&1]
	if r.number != round {
		return true
	}
	s := &r.slices[slice-k.first]
	return l.place >= s.next && s.held[l.place].values == nil
}

// missing answers a question for slices of a round.
func (g *calls) missing(l *link, m *wire.Message) {
	k := g.keys[m.Key]
	if k == nil {
		return
	}
	ranges, err := wire.DecodeRanges(m.Payload, k.slices)
	if err != nil || m.Slices != k.slices || m.Total != k.spec.Total {
		g.refuse(l, m)
		return
	}
	if l.queued(k, m.Clock) {
		return // what it lacks is on its way
	}
	waits := wire.Node{}
	for i := range ranges.Len() {
		first, last := ranges.At(i)
		for slice := int(first); slice <= int(last); slice++ {
			if !g.answer(l, k, m.Clock, uint16(slice)) && waits.IsZero() && k.own(uint16(slice)) {
				waits = g.lacks(k, m.Clock, uint16(slice))
			}
		}
	}
	switch c := k.call; {
	case c == nil || !c.begun: // the program has not come so far
		waits = g.cause()
	case !waits.IsZero() && !c.waits.IsZero() && waits == g.blame(c):
		waits = c.waits
	}
	if !waits.IsZero() && waits != l.node && m.Clock > k.done {
		a := g.message(wire.TypeWaiting, l)
		a.SetWait(wire.Wait{On: waits, Of: wire.TypeMissing, Seq: uint64(k.id)})
		g.send(l, a)
	}
}

// answer sends the sum of a slice to a worker, or else our contribution if the worker adds it up.
// It reports whether there was something to send.
func (g *base) answer(l *link, k *key, round uint64, slice uint16) bool {
	if lo, hi := k.span(slice); lo == hi {
		return true
	}
	it := item{key: k, round: round, slice: slice, kind: wire.TypeSum, again: true}
	if k.sum(round, slice) != nil {
		g.enqueue(l, it)
		return true
	}
	c := k.call
	if c == nil || c.round != round || !c.begun || k.each > 0 &&
		k.owner(slice, g.cfg.Rank) != l.place {
		return false
	}
	it.kind, it.priority = wire.TypeContribution, c.priority
	g.enqueue(l, it)
	return true
}

// cause returns the worker for which the oldest call waits in the end, as far as is known; the zero
// Node if no call waits.
func (g *calls) cause() wire.Node {
	best := (*call)(nil)
	for _, c := range g.open {
		if c.begun && c.left > 0 && c.err == nil && (best == nil || c.id < best.id) {
			best = c
		}
	}
	switch {
	case best == nil:
		return wire.Node{}
	case !best.waits.IsZero():
		return best.waits
	}
	return g.blame(best)
}

// waiting notes the worker for which another worker waits that we wait for.
func (g *calls) waiting(l *link, m *wire.Message) {
	w := m.Wait()
	k := g.keys[uint32(w.Seq)]
	if w.Of != wire.TypeMissing || k == nil || k.call == nil {
		return
	}
	if g.blame(k.call) == l.node {
		k.call.waits = w.On
	}
}

// tickCalls asks for values that have not come for long, and ends calls whose deadline has passed.
func (g *calls) tickCalls() {
	for i := len(g.open) - 1; i >= 0; i-- {
		if i >= len(g.open) {
			continue
		}
		c := g.open[i]
		switch {
		case g.now >= c.deadline && c.err == nil:
			g.fail(c, ps.ErrTimeout)
		case c.key != nil && c.begun && c.left > 0 && c.err == nil && g.now >= c.askAt:
			g.ask(c)
		}
	}
}
