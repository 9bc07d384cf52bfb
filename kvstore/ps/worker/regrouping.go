package worker

import (
	"bytes"
	"slices"

	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

// regrouping is a worker's part in changes of the group. The scheduler changes it when all of its
// workers have called; the answer is a view with another group, so that nothing is lost when the
// scheduler dies: the call is repeated until such a view has come.
type regrouping struct {
	*agent
	*calls
	change     *call          // nil: none is under way
	call       wire.GroupCall // of the call
	note       []byte         // of the call
	wantsLeave bool           // the worker itself wants to leave
	repeatAt   ps.Time        // when the scheduler is asked again
}

// Standing is a worker's knowledge of the group. Others may hear of changes earlier or later.
type Standing struct {
	Group   wire.Group // must not be changed
	Member  bool       // this worker is in the group
	Changes bool       // a worker waits to come in, or one is to leave
	Leaves  bool       // this worker is to leave
}

// standing is Worker.Standing.
func (rg *regrouping) standing() Standing {
	if rg.me.View == nil {
		return Standing{}
	}
	g, me := rg.me.View.Group, rg.me.View.Member(rg.me.Self)
	return Standing{Group: g, Member: slices.Contains(g.Ranks, rg.me.Self.Rank) && !me.Waits,
		Changes: rg.changes(), Leaves: rg.leaves()}
}

// WantLeave asks for this worker to leave with the next change of the group.
func (rg *regrouping) WantLeave() { rg.wantsLeave = true }

// regroup begins the call that Worker.Regroup makes.
func (rg *regrouping) regroup(now ps.Time, round uint64, note []byte, deadline ps.Time,
) (uint64, error) {
	if err := rg.usable("regroup", ps.NoKey); err != nil {
		return 0, err
	}
	switch {
	case rg.change != nil:
		return 0, usage("regroup", ps.NoKey, "the one before has not ended")
	case len(note) > ps.MaxNote:
		return 0, usage("regroup", ps.NoKey, "a note of %d bytes, want at most %d", len(note),
			ps.MaxNote)
	}
	c := rg.newCall(now, "regroup", ps.NoKey, deadline)
	c.left = 1
	c.single = single{place: &rg.change, peer: node.Scheduler}
	rg.change, rg.note = c, bytes.Clone(note)
	rg.call = wire.GroupCall{Number: rg.me.View.Group.Number, Round: round}
	rg.sendRegroup()
	return c.id, nil
}

// sendRegroup tells the scheduler of the call, for the first time or again.
func (rg *regrouping) sendRegroup() {
	rg.call.Leaves = rg.wantsLeave
	m := rg.me.Message(wire.TypeRegroup)
	m.Payload = rg.note
	rg.call.Set(&m)
	rg.repeatAt = rg.now + rg.me.Timing.Resend
	rg.me.Send(node.Scheduler, m, nil)
}

// regrouped ends the call when a view has another group.
func (rg *regrouping) regrouped() {
	c := rg.change
	if c == nil || rg.me.View.Group.Number <= rg.call.Number {
		return
	}
	c.left = 0
	rg.end(c, nil)
}

// repeatRegroup asks the scheduler again when it is time.
func (rg *regrouping) repeatRegroup() {
	if rg.change != nil && rg.now >= rg.repeatAt {
		rg.sendRegroup()
	}
}

// leaves reports whether this worker is to leave with the next change of the group.
func (rg *regrouping) leaves() bool {
	m := rg.me.View.Member(rg.me.Self)
	return m != nil && !m.Left && (rg.wantsLeave || m.Leaves)
}

// changes reports whether the group is to change. The last worker stays even if it is to leave:
// others would have nobody to wait for, and the job would be over.
func (rg *regrouping) changes() bool {
	v := rg.me.View
	n, waits, leaves, gone := 0, false, false, false
	for i := range v.Workers {
		m := &v.Workers[i]
		switch {
		case m.Left:
		case m.Waits:
			waits = waits || m.Alive
		default:
			n++
			leaves = leaves || m.Leaves || rg.wantsLeave && m.Node == rg.me.Self
		}
	}
	// A worker that has died when it was to leave is let go without a change of the group.
	for _, r := range v.Group.Ranks {
		gone = gone || v.Workers[r].Left
	}
	return waits || gone || leaves && n > 1
}

// usesNoRounds reports whether the program has keys, and none with rounds: then workers may come
// and go at any time.
func (ks *keyset) usesNoRounds() bool {
	any := false
	for _, k := range ks.keys {
		if k.key >= Aside {
			continue
		}
		if any = true; !k.direct {
			return false
		}
	}
	return any
}
