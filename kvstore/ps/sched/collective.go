package sched

import (
	"fmt"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// In a job without servers under Shrink the workers add up among themselves, and a change of the
// group ends the rounds that are under way (package ring): all workers go back to the last round
// that all of them have. So nobody has to call for a change, and a worker that is silent for too
// long is taken out at once. It comes back as another process: one that has stood still sees in the
// view that it is not alive, and ends (ps.ErrFenced).
//
// Workers that come wait until they have called for a change, which says that their program is
// ready: the others stand still until a new worker has the values.
//
// The view is durable before anybody hears of it, and the groups of a job follow each other by
// number. A worker adds up with the workers of its group, in which all others are, or does nothing:
// the job cannot go on in two parts.

// collective reports whether the job is such a job.
func (d *desk) collective() bool { return d.cfg.Policy == ps.Shrink && d.cfg.Servers == 0 }

// stays reports whether a worker that was given up is still in the group, because nobody else was
// left.
func (d *desk) stays(m *wire.Member) bool {
	return d.collective() && !m.Waits && slices.Contains(d.view.Group.Ranks, m.Node.Rank)
}

// changeAtOnce changes the group when a worker of it is gone or is to leave, and when a worker that
// waits is ready.
func (gr *groups) changeAtOnce() {
	g := &gr.view.Group
	var next []uint16
	ready, silent := 0, 0
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		in := slices.Contains(g.Ranks, m.Node.Rank) && !m.Waits && !m.Left
		switch {
		case in && m.Incarnation == 0: // the job begins
			next = append(next, m.Node.Rank)
		case in && m.Alive && !m.Leaves:
			next = append(next, m.Node.Rank)
		case in && !m.Alive:
			silent++
		case m.Waits && m.Alive && !m.Left && gr.called(m):
			ready++
			next = append(next, m.Node.Rank)
		}
	}
	if len(next) == 0 {
		gr.letDeadGo()
	}
	switch {
	case len(next) == 0, ready == 0 && slices.Equal(next, g.Ranks):
		return // the last worker stays, though it is to leave
	case len(next) == ready && silent > 0:
		return // a worker that is silent may be the last one that has the values
	}
	for i := range gr.view.Workers {
		m := &gr.view.Workers[i]
		if m.Alive && m.Leaves && !m.Waits && slices.Contains(g.Ranks, m.Node.Rank) {
			m.Left, m.Alive, m.Leaves = true, false, false
			gr.out.Report(ps.EventLeft, m.Node, 0, 0, "with the change of the group")
		}
	}
	gr.take(next)
}

// letDeadGo ends the job when the workers of the group have left: workers that were given up before
// do not keep it.
func (gr *groups) letDeadGo() {
	for _, r := range gr.view.Group.Ranks {
		if !gr.view.Workers[r].Left {
			return
		}
	}
	for i := range gr.view.Workers {
		if m := &gr.view.Workers[i]; !m.Left && !m.Waits && !m.Alive {
			m.Left, gr.changed = true, true
		}
	}
}

// take makes a group of the workers with these ranks.
func (gr *groups) take(ranks []uint16) {
	g := &gr.view.Group
	calls := wire.Calls{}
	for _, r := range ranks {
		if m := &gr.view.Workers[r]; !m.Waits {
			calls = m.Calls // all workers of the group have passed the same barriers
			break
		}
	}
	for i := range gr.view.Workers {
		g.Round = max(g.Round, gr.beats[gr.view.Workers[i].Node].Clock)
	}
	for _, r := range ranks {
		m := &gr.view.Workers[r]
		if m.Waits {
			m.Waits, m.Calls, m.Calls.Done = false, calls, 0
		}
	}
	g.Number, g.Ranks = g.Number+1, ranks
	clear(gr.calls)
	gr.changed = true
	gr.out.Report(ps.EventJoined, wire.Node{}, 0, 0, fmt.Sprintf("group %d of workers %v",
		g.Number, ranks))
}
