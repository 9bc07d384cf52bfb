package ring

import (
	"fmt"
	"math"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// joiner finds out where the rounds of this worker begin: it asks all other workers how far theirs
// are.
//
// In a new job no worker knows, and all begin with the first round. A process that takes over a
// place begins with the first round that is not complete at every worker: rounds beyond that wait
// for its contributions, so no worker can be ahead of it by more than one round.
type joiner struct {
	*base
	*calls
	joining *call // nil: none is under way
	leaving *call // nil: the program does not leave
}

// greeting is the part of a link that is about the start.
type greeting struct {
	answered bool // the process in the place has answered
	live     bool // its answer: it knows where its rounds begin
	round    uint64
	askAt    ps.Time
	left     bool // it has said goodbye
}

// Join waits until every worker has said how far its rounds are. It is the first call, and is made
// once; in an elastic job once for every group (see ErrRegrouped). Resumed means something when it
// has ended.
func (g *joiner) Join(now, deadline ps.Time) (uint64, error) {
	g.awaken(now)
	switch {
	case g.err != nil && g.err != ErrRegrouped:
		return 0, &ps.Error{Op: "join", Key: ps.NoKey, Err: g.err}
	case g.joining != nil || g.joined && g.err == nil:
		return 0, usage("join", ps.NoKey, "it has been called before")
	}
	if g.cfg.Elastic {
		if err := g.enter(); err != nil {
			return 0, err
		}
	}
	c := g.newCall(now, "join", nil, deadline)
	c.place, c.peer = &g.joining, g.blameStart
	g.joining = c
	g.greet()
	g.join()
	return c.id, nil
}

// Resumed returns the number of rounds that an earlier process in this place has completed with all
// other workers.
func (g *joiner) Resumed() uint64 { return g.start }

// Position returns the number of rounds that the program has begun, the rounds of earlier processes
// in this place included.
func (g *joiner) Position() uint64 { return g.high() }

// Leave waits until all rounds that are complete here are complete at every worker, so that no sum
// is lost when this process ends.
func (g *joiner) Leave(now, deadline ps.Time) (uint64, error) {
	g.awaken(now)
	if g.err != nil {
		return 0, &ps.Error{Op: "leave", Key: ps.NoKey, Err: g.err}
	}
	if g.joining != nil || g.leaving != nil {
		return 0, usage("leave", ps.NoKey, "another such call has not ended")
	}
	c := g.newCall(now, "leave", nil, deadline)
	c.place, c.peer = &g.leaving, g.blameStart
	g.leaving = c
	for _, l := range g.others {
		l.answered, l.askAt = false, now
	}
	g.greet()
	g.part()
	return c.id, nil
}

// part ends the call of Leave when no other worker lacks anything.
func (g *joiner) part() {
	c := g.leaving
	if c == nil {
		return
	}
	for _, l := range g.others {
		if !l.left && !l.answered {
			return
		}
	}
	g.leaving = nil
	g.end(c, nil)
}

// greet asks the workers that have not answered.
func (g *joiner) greet() {
	if g.joining == nil && g.leaving == nil {
		return
	}
	for _, l := range g.others {
		if l.inc != 0 && !l.left && !l.answered && g.now >= l.askAt {
			l.askAt = g.now + g.cfg.Timing.Resend
			g.send(l, g.message(wire.TypeGreet, l))
		}
	}
}

// greeted answers the question of a worker that joins or leaves. FlagGap tells a worker that leaves
// that values of a key aside, whose rounds the answer does not count, may be missing here.
func (g *joiner) greeted(l *link) {
	m := g.message(wire.TypeGreeting, l)
	if slices.ContainsFunc(g.open, (*call).lacksAside) {
		m.Flags |= wire.FlagGap
	}
	wire.CollectiveStart{Live: g.alive(), Round: g.standing()}.Put(&m)
	g.send(l, m)
}

// lacksAside reports whether a call waits for sums of a key that is no part of steps.
func (c *call) lacksAside() bool {
	return c.key != nil && c.key.spec.Aside && c.left > 0 && c.err == nil
}

// answered takes in a worker's answer.
func (g *joiner) answered(l *link, m *wire.Message) {
	s := wire.CollectiveStartOf(m)
	switch {
	case g.joining != nil:
		l.answered, l.live, l.round = true, s.Live, s.Round
		g.join()
	case g.leaving != nil:
		l.answered = l.answered ||
			s.Live && s.Round >= g.low() && m.Flags&wire.FlagGap == 0
		g.part()
	}
}

// join ends the call when all have answered.
func (g *joiner) join() {
	c := g.joining
	if c == nil || g.inc == 0 {
		return
	}
	low := uint64(math.MaxUint64)
	for _, l := range g.others {
		if l.inc == 0 || !l.answered {
			return
		}
		if l.live {
			low = min(low, l.round)
		}
	}
	if g.live {
		low = min(low, g.held)
	}
	if low == math.MaxUint64 && g.begun > 0 {
		g.fail(c, fmt.Errorf("%w: no worker of group %d has the values, which had %d rounds",
			ps.ErrLost, g.number, g.begun))
		return
	}
	if low != math.MaxUint64 {
		g.start = low
	}
	g.joined, g.joining = true, nil
	c.round = g.start
	if g.cfg.Elastic {
		g.replace()
	}
	g.end(c, nil)
}

// blameStart returns the first worker that has not answered.
func (g *joiner) blameStart() wire.Node {
	for _, l := range g.others {
		if !l.answered && !l.left {
			return l.node
		}
	}
	return wire.Node{}
}
