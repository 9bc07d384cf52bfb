package ring

import (
	"errors"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// ErrRegrouped says that the group of an elastic job has changed, which ends all calls: a worker
// has died, has left, or has come. The program waits for the ends of its calls, calls Join, and
// goes back to the values after as many rounds as Resumed says: every round behind that counts as
// if it had not been.
//
// All workers of the new group agree on that number: the smallest number of rounds that one of
// them had completed, for all keys. A worker is at most one round ahead of it. For a worker that
// contributes to round R+2 has completed round R+1 for all keys, and a worker that has not
// completed round R+1 has not contributed to round R+2; so nobody has completed that round.
//
// The same holds over several changes. A worker that has completed a round of a group has had the
// contributions of all workers of the group, who have entered it, and gone back as it has. Groups
// that a worker did not enter have completed nothing as long as the worker was in them; a worker
// that was taken out of a group comes back without values, as another process.
var ErrRegrouped = errors.New("the group of workers has changed: go back to the last round that " +
	"all of them have, and go on")

// generation is the group of an elastic job whose rounds run. A job that is not elastic has one,
// with number 0.
type generation struct {
	view    *wire.View // the last one; nil: the job is not elastic, or none has come
	number  uint64     // of the group
	entered bool       // the program has entered the group, which is the view's
	created []creation // in their order
	// of this process when it entered: it had values, which had had so many rounds
	live bool
	held uint64
	full bool // the program has the values: it has pushed, or said so (Full)
	// rounds that the job has begun for certain, as the scheduler says; 0: perhaps none
	begun uint64
}

// creation is a call of Create.
type creation struct {
	id   uint32
	spec KeySpec
}

// current reports whether a message is of the group whose rounds run.
func (g *base) current(m *wire.Message) bool {
	return (g.entered || !g.cfg.Elastic) && m.Group == uint16(g.number)
}

// connect makes the links of a group. Links are in the order of the ranks, as sums are.
func (g *base) connect(ranks []uint16) {
	g.links, g.others = make([]*link, len(ranks)), nil
	for i, rank := range ranks {
		if rank != g.self.Rank {
			g.links[i] = &link{node: wire.Node{Role: wire.Worker, Rank: rank}, place: uint16(i)}
			g.others = append(g.others, g.links[i])
		}
	}
}

// linkTo returns the link to a worker, nil if there is none.
func (g *base) linkTo(rank uint16) *link {
	for _, l := range g.others {
		if l.node.Rank == rank {
			return l
		}
	}
	return nil
}

// standing returns the number of rounds that this process has completed, for its answer to workers
// that join. In a group that not all have joined it is the number with which the process has come,
// or the number on which all agree, which is the smallest.
func (g *base) standing() uint64 {
	if !g.joined && g.cfg.Elastic {
		return g.held
	}
	return g.low()
}

// Full says that the program of a worker that has come has the values. Until then, or until its
// first push, it is no worker that others could go on from, and others do not leave (Leave).
func (g *Group) Full() { g.full = true }

// alive reports whether this process has values, for its answer to workers that join or leave.
func (g *base) alive() bool {
	if g.cfg.Elastic {
		return g.live || g.joined && g.full
	}
	return g.joined
}

// endGeneration ends all calls, because the view has another group. Rounds that are complete here
// stay complete: their calls end well, when their memory is back.
func (g *Group) endGeneration() {
	if g.joined {
		g.live, g.held = g.live || g.full, g.low()
	}
	g.entered, g.err = false, ErrRegrouped
	for _, c := range slices.Clone(g.open) {
		if c.key != nil && c.begun && c.left == 0 && c.err == nil {
			g.recall(c)
			continue
		}
		g.fail(c, ErrRegrouped)
	}
	for _, l := range g.others {
		l.queue = l.queue[:0]
	}
}

// enter begins the part of this process in the group of the last view.
func (g *joiner) enter() error {
	switch {
	case g.view == nil:
		return usage("join", ps.NoKey, "no view has come")
	case len(g.open) > 0:
		return usage("join", ps.NoKey, "%d calls of the group before have not ended", len(g.open))
	}
	now := &g.view.Group
	place := slices.Index(now.Ranks, g.self.Rank)
	if place < 0 || g.view.Workers[g.self.Rank].Waits {
		return &ps.Error{Op: "join", Key: ps.NoKey, Err: ErrRegrouped}
	}
	g.number, g.begun, g.entered, g.joined, g.err = now.Number, now.Round, true, false, nil
	g.cfg.Rank, g.cfg.Workers = uint16(place), len(now.Ranks)
	g.forgetKeys() // their slices have other owners
	g.connect(now.Ranks)
	g.meet()
	return nil
}

// forgetKeys forgets all keys.
func (g *calls) forgetKeys() {
	for _, k := range g.keys {
		for i := range k.rounds {
			k.rounds[i].gone = true
			k.rounds[i].free()
		}
	}
	g.keys, g.buckets, g.filling = map[uint32]*key{}, nil, nil
}

// Close frees the memory of all keys. No call is open, and none follows.
func (g *Group) Close() { g.forgetKeys() }

// meet begins the links to workers that have come. A worker of the group in whose place another
// process comes is no worker of the group any more; but when a job begins, its first workers may
// come later than others.
func (g *base) meet() {
	for _, l := range g.others {
		if m := &g.view.Workers[l.node.Rank]; l.inc == 0 && m.Incarnation != 0 {
			g.reset(l, g.view, m)
			g.epoch = max(g.epoch, uint64(l.inc))
		}
	}
}

// replace makes the keys anew, with shares for the workers of the group.
func (g *joiner) replace() {
	for _, c := range g.created {
		g.place(c.id, c.spec)
	}
}

// Generation returns the number of the group whose rounds run, and the ranks of its workers in
// their order; false if the group has changed since, or the worker has entered none.
func (g *Group) Generation() (number uint64, ranks []int, current bool) {
	for _, l := range g.links {
		rank := int(g.self.Rank)
		if l != nil {
			rank = int(l.node.Rank)
		}
		ranks = append(ranks, rank)
	}
	return g.number, ranks, g.entered
}

// Completed returns the number of rounds that are complete here.
func (g *Group) Completed() uint64 { return g.low() }

// View returns the last view of an elastic job, nil before there is one. It must not be changed.
func (g *Group) View() *wire.View { return g.view }
