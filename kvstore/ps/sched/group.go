package sched

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// Workers come and go while the job runs. Rounds wait for the workers of the group (wire.Group),
// which changes between two rounds: when all its workers have called for a change, with all their
// pushes committed, one view lets in the workers that wait, and lets go the workers that leave. So
// no round is open at that moment, and the next one begins with the same set on all shards: workers
// name the number of their group in every message, and a server with an older view asks for the new
// one before it takes their messages in.
//
// In a job without rounds workers are let in at once.

// Calls are kept in memory only. A scheduler that begins anew has none, and every worker repeats
// its call until a view with another group has come: whether the view of the scheduler before
// became durable or not, all workers see the same group.
//
// Invariants:
//  1. The number of the group rises with every change, and the group changes with no other view.
//  2. Ranks lists the workers that count when the group changes. Between changes a worker may die,
//     end, or be taken over: the others go on with the same shares of the data.
//  3. A worker waits or is in the group, never both.

// groupCall is a worker's call for a change of the group.
type groupCall struct {
	incarnation uint32
	round       uint64
	leaves      bool
	note        []byte
}

// groups decides which workers are in the group.
type groups struct {
	*desk
	*members
	calls map[uint16]groupCall // by rank; of the present group
}

// maxAdded bounds the rank of a process that takes a place beyond the ones that the job has: its
// place is added, with all below.
const maxAdded = 1 << 12

// addPlace adds the place that a process asks for by its rank.
func (gr *groups) addPlace(m *wire.Message) {
	h, err := wire.DecodeHello(m.Payload)
	if err != nil || h.Rank != int32(m.From.Rank) || h.Rank >= maxAdded || gr.view.Over() {
		return
	}
	switch m.From.Role {
	case wire.Worker:
		gr.addPlaces(int(h.Rank)+1, 0)
	case wire.Server:
		gr.addPlaces(0, int(h.Rank)+1)
	}
}

// addPlaces adds places that nobody has, until there are so many.
func (gr *groups) addPlaces(workers, servers int) {
	for _, x := range [...]struct {
		role wire.Role
		list *[]wire.Member
		want int
	}{{wire.Worker, &gr.view.Workers, workers}, {wire.Server, &gr.view.Servers, servers}} {
		for len(*x.list) < x.want {
			n := wire.Node{Role: x.role, Rank: uint16(len(*x.list))}
			*x.list = append(*x.list, wire.Member{Node: n, Left: true})
			gr.last[n] = gr.awake.Time
			gr.changed = true
		}
	}
}

// scale says how many workers and servers the job is to have; 0 leaves a number as it is. Processes
// with higher ranks leave; processes for new places are started by others.
func (gr *groups) scale(workers, servers int) error {
	least := max(1, gr.cfg.Replicas)
	switch {
	case gr.view.Over():
		return fmt.Errorf("ps: scale: %w", ps.ErrOver)
	case workers < 0 || workers > maxAdded || servers < 0 || servers > maxAdded:
		return fmt.Errorf("ps: scale to %d workers and %d servers, want at most %d: %w", workers,
			servers, maxAdded, ps.ErrUsage)
	case servers > 0 && servers < least:
		return fmt.Errorf("ps: scale to %d servers, want at least %d for as many copies: %w",
			servers, least, ps.ErrUsage)
	}
	// Places are added here and not when somebody asks for one, so that processes without a rank
	// get them too (guests).
	gr.addPlaces(workers, servers)
	if workers > 0 {
		gr.view.WantWorkers = uint32(workers)
		sendAway(gr.view.Workers, workers)
	}
	if servers > 0 {
		gr.view.WantServers = uint32(servers)
		sendAway(gr.view.Servers, servers)
	}
	gr.changed = true
	return nil
}

// sendAway says which processes are to leave so that a number of places stay taken. A process that
// was to leave and is wanted after all stays.
func sendAway(list []wire.Member, want int) {
	for i := range list {
		list[i].Leaves = i >= want && !list[i].Left
	}
}

// drain asks one process to leave. Its place stays: the launcher of the job starts another process
// in it, which comes in like a new one. So a job is restarted process by process.
func (gr *groups) drain(n wire.Node) error {
	m := gr.view.Member(n)
	if m == nil || m.Left || m.Incarnation == 0 {
		return fmt.Errorf("ps: drain %s, which is not in the job: %w", n, ps.ErrUsage)
	}
	m.Leaves, gr.changed = true, true
	return nil
}

// regroup takes in a worker's call for a change of the group.
func (gr *groups) regroup(me *wire.Member, m *wire.Message) {
	c := wire.GroupCallOf(m)
	if me.Node.Role != wire.Worker || me.Left || me.Waits && !gr.collective() ||
		len(m.Payload) > ps.MaxNote {
		return
	}
	if c.Number != gr.view.Group.Number {
		if c.Number < gr.told.Group.Number {
			gr.tell(me.Node)
		}
		return
	}
	// A successor of a process that has called must call as well: it may be some steps behind.
	_, repeated := gr.calls[me.Node.Rank]
	gr.calls[me.Node.Rank] = groupCall{incarnation: me.Incarnation, round: c.Round,
		leaves: c.Leaves, note: slices.Clone(m.Payload)}
	if repeated {
		gr.tellWaiting(me.Node, m, gr.blameGroup())
	}
}

// called reports whether the process in a worker's place has called. The call of a predecessor does
// not count.
func (gr *groups) called(m *wire.Member) bool {
	c, ok := gr.calls[m.Node.Rank]
	return ok && c.incarnation == m.Incarnation
}

// blameGroup returns the first worker of the group that has not called.
func (gr *groups) blameGroup() wire.Node {
	for i := range gr.view.Workers {
		if m := &gr.view.Workers[i]; gr.counts(m) && !gr.called(m) {
			return m.Node
		}
	}
	return wire.Node{}
}

// changeGroup changes the group when all of its workers have called, or when a worker may come in
// at any time. A worker that was to leave and has died is let go at once: nobody takes its place.
func (gr *groups) changeGroup() {
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		if m.Leaves && !m.Left && !m.Alive && m.Incarnation != 0 && gr.others(m) {
			m.Left, m.Leaves, gr.changed = true, false, true
			gr.out.Report(ps.EventLeft, m.Node, 0, 0, "it was to leave and has died")
		}
	}
	switch {
	case gr.view.Over():
	case gr.collective():
		gr.changeAtOnce()
	case len(gr.calls) > 0 && gr.blameGroup().IsZero():
		gr.pass()
	case gr.loose():
		gr.admit(gr.view.Group.Round, gr.view.Group.Note)
	}
}

// others reports whether a worker beside m is in the group and not told to leave.
func (gr *groups) others(m *wire.Member) bool {
	return slices.ContainsFunc(gr.view.Workers, func(o wire.Member) bool {
		return o.Node != m.Node && !o.Left && !o.Waits && !o.Leaves
	})
}

// loose reports whether a worker waits that may come in at once: all workers of the group live and
// use no rounds.
func (gr *groups) loose() bool {
	// A worker of the group that is dead may use rounds: nobody can ask it.
	waits, any := false, false
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		waits = waits || m.Waits && m.Alive
		if gr.counts(m) {
			if any = true; !m.Alive || !gr.beats[m.Node].Loose {
				return false
			}
		}
	}
	return waits && any
}

// pass changes the group after the calls of all its workers. The round and the note are those of
// the lowest rank.
func (gr *groups) pass() {
	round, note, first := uint64(0), []byte(nil), true
	// How many workers the next group will have.
	stay := gr.waiting()
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		if !gr.counts(m) {
			continue
		}
		c := gr.calls[m.Node.Rank]
		if first {
			round, note, first = c.round, c.note, false
		}
		if !c.leaves && !m.Leaves {
			stay++
		}
	}
	// Workers that leave have no push under way: the call was made when all were committed.
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		if !gr.counts(m) || !gr.calls[m.Node.Rank].leaves && !m.Leaves {
			continue
		}
		if stay == 0 { // one worker stays, because a job without workers is over
			stay++
			continue
		}
		m.Left, m.Alive, m.Leaves = true, false, false
		gr.out.Report(ps.EventLeft, m.Node, 0, 0, "with the change of the group")
	}
	gr.admit(round, note)
}

// waiting counts the workers that wait. Processes that have died while they waited are not counted,
// but keep their places: a successor waits in its turn.
func (gr *groups) waiting() (n int) {
	for i := range gr.view.Workers {
		if m := &gr.view.Workers[i]; m.Waits && m.Alive && !m.Left {
			n++
		}
	}
	return n
}

// admit lets in the workers that wait and gives the group its next number. Workers that are let in
// have passed the barriers of the others.
func (gr *groups) admit(round uint64, note []byte) {
	g := &gr.view.Group
	g.Number, g.Round, g.Note, g.Ranks = g.Number+1, round, note, nil
	// All workers of the group have passed the same barriers.
	var calls *wire.Calls
	for i := range gr.view.Workers {
		if m := &gr.view.Workers[i]; gr.counts(m) && calls == nil {
			calls = &m.Calls
		}
	}
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		if m.Waits && m.Alive && !m.Left {
			m.Waits = false
			if calls != nil {
				m.Calls = *calls
				m.Calls.Done = 0
			}
			gr.out.Report(ps.EventJoined, m.Node, 0, 0, fmt.Sprintf("group %d", g.Number))
		}
		if gr.counts(m) {
			g.Ranks = append(g.Ranks, m.Node.Rank)
		}
	}
	clear(gr.calls)
	gr.changed = true
}
