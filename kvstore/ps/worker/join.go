package worker

import (
	"math"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// joiner finds out where a worker starts: it asks all shards how far earlier processes in its place
// were.
//
// A worker that takes a place which nobody had first waits until it is let into the group.
//
// Where rounds wait for workers (Wait without backup workers) the answer is in the worker's own
// pushes: it repeats the step that is committed on some shards only, and servers recognize the
// pushes that they have. Where rounds close without it its own pushes say little: it starts behind
// the furthest round of all, and tells all shards so before it pushes.
type joiner struct {
	*agent
	*calls
	*routes
	*failing
	*progress
	joining  *call // nil: none is under way
	entering bool  // some shards do not know where the worker starts
	// where it starts, when rounds may close without it: the same on all shards
	from wire.StartPoint
	// committed pushes of earlier processes, by slice, as the shards say
	cursors map[ps.ID]wire.CursorEntry
}

// join begins the call that Worker.Join makes. It counts one part more than there are shards, which
// stands for the whole: the call must not end between the question of how far others are and the
// statement of where this worker starts.
func (jo *joiner) join(now ps.Time, deadline ps.Time) (uint64, error) {
	if jo.joining != nil || jo.joined {
		return 0, usage("join", ps.NoKey, "it has been called before")
	}
	c := jo.newCall(now, "join", ps.NoKey, deadline)
	jo.joining = c
	c.single = single{place: &jo.joining, peer: node.Scheduler, waits: jo.blameJoin}
	c.left = 1 // until the shards are known
	jo.askCursors()
	return c.id, nil
}

// askCursors asks all shards, as soon as there is a view that has them. The call is bound to the
// scheduler until then, and to the servers from here on: its error names the one that it waits for.
func (jo *joiner) askCursors() {
	c := jo.joining
	if c == nil || jo.joined || jo.me.Inc == 0 || c.ended || c.left != 1 {
		return
	}
	if jo.cfg.NoServers { // nobody keeps values for workers
		jo.begin()
		c.left--
		jo.end(c, nil)
		return
	}
	if len(jo.shards) == 0 || jo.me.View.Member(jo.me.Self).Waits {
		return
	}
	c.single.peer = wire.Node{}
	if jo.lost != nil {
		jo.fail(c, jo.lost)
		return
	}
	for i := range jo.shards {
		jo.ask(jo.newPart(c, wire.TypeAskCursor, uint32(i)))
	}
}

// tookCursor takes in one shard's answer. When it is the last the worker has joined, or tells all
// shards where it starts. It reports false for an answer that cannot be read: the question is
// repeated.
func (jo *joiner) tookCursor(r *route, m *wire.Message) bool {
	cur, err := wire.DecodeCursor(m.Payload)
	if err != nil {
		jo.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch, err.Error())
		return false
	}
	jo.entering = jo.entering || cur.Away
	for _, e := range cur.Entries {
		jo.cursors[ps.ID{Key: e.Key, Slice: e.Slice}] = e
	}
	c := jo.joining
	// The answers of all shards are needed together.
	if c.left != 2 { // this part, and the one that stands for the whole
		return true
	}
	if !jo.loose() && !jo.entering {
		jo.findResume()
		jo.begin()
		c.left--
		return true
	}
	jo.findStart()
	if !jo.loose() {
		jo.findEntry()
	}
	for i := range jo.shards {
		p := jo.newPart(c, wire.TypeAskCursor, uint32(i))
		p.flags, p.own, p.need, p.clock = wire.FlagStart, jo.from.Round, jo.from.Push, jo.from.Step
		jo.ask(p)
	}
	return true
}

// begin says that the worker has joined, and where it starts. Other calls may be made from now on.
func (jo *joiner) begin() {
	jo.joined, jo.started = true, max(jo.resumed, jo.clock)
}

// findStart works out where to start: behind everything that any worker has pushed, so that no
// round waits for a push that has been left out.
func (jo *joiner) findStart() {
	for _, c := range jo.cursors {
		to := &jo.from.Round
		switch {
		case c.Table:
			to = &jo.from.Step
		case c.Direct:
			to = &jo.from.Push
		}
		*to = max(*to, c.Clock, c.Version)
	}
	jo.resumed, jo.clock = jo.from.Round, jo.from.Step
}

// findEntry works out where a worker starts that has come into the group of a running job: rounds
// wait for it from the next one of every key on, so it continues where each key is.
func (jo *joiner) findEntry() {
	step, push, rounds := jo.clock, uint64(0), false
	for _, c := range jo.cursors {
		switch {
		case c.Key >= Aside || c.Table:
		case c.Direct:
			push = max(push, c.Clock, c.Version)
		default:
			rounds = true
		}
	}
	jo.findResume()
	if jo.clock = step; !rounds {
		jo.resumed = max(push, step)
	}
}

// startedOn notes that a shard knows where the worker starts. With the last one the worker has
// joined.
func (jo *joiner) startedOn() {
	if c := jo.joining; c.left == 2 {
		c.left--
		jo.begin()
	}
}

// Aside is the first number of keys that are no part of a program's steps: they do not count for
// Resumed.
const Aside = 1 << 31

// findResume works out where the worker continues when rounds have waited for it: it repeats the
// step that is committed on some shards and not on others.
func (jo *joiner) findResume() {
	const none = uint64(math.MaxUint64)
	rounds, direct, steps := none, none, none
	for _, c := range jo.cursors {
		switch {
		case c.Table: // a step of tables is over when all of their slices have it
			steps = min(steps, c.Clock)
		case c.Key >= Aside:
		case c.Direct:
			direct = min(direct, c.Clock)
		default:
			rounds = min(rounds, c.Clock)
		}
	}
	jo.clock = 0
	if steps != none {
		jo.clock = steps
	}
	switch {
	case rounds != none: // of direct pushes only the count at the last step is known
		jo.resumed = rounds
	case direct != none && steps != none:
		jo.resumed = min(direct, steps)
		jo.clock = jo.resumed
	case direct != none:
		jo.resumed = direct
	case steps != none:
		jo.resumed = steps
	}
}

// resume returns how many pushes to a slice count as done. All slices of a key have the same count:
// a program pushes keys, not slices.
func (jo *joiner) resume(c wire.CursorEntry) uint64 {
	switch {
	case jo.entering && !jo.loose() && (!c.Direct || c.Key >= Aside):
		return c.Clock
	case !c.Direct:
		return jo.resumed
	case jo.loose() || jo.entering:
		return jo.from.Push
	}
	low := c.Clock
	for i := range c.Slices {
		low = min(low, jo.cursors[ps.ID{Key: c.Key, Slice: i}].Clock)
	}
	return low
}

// blameJoin returns the server that keeps a job from starting: the first one that is not there, as
// long as no shard has a place.
func (jo *joiner) blameJoin() wire.Node {
	if jo.me.View == nil || len(jo.shards) > 0 {
		return wire.Node{}
	}
	for i := range jo.me.View.Servers {
		if m := &jo.me.View.Servers[i]; !m.Alive {
			return m.Node
		}
	}
	return wire.Node{}
}
