package sched

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// members decides which process has which place, and which processes are there. Times in it are
// awake times of the scheduler.
type members struct {
	*desk
	last   map[wire.Node]ps.Time // when each node was heard of, or given time to be heard of
	seen   map[wire.Node]uint64  // view that each node has named in a heartbeat
	buried map[wire.Node]uint64  // view in which a node was given up: a node that names it is back
	beats  map[wire.Node]wire.Heartbeat
	// nonces of processes that were replaced: their late hellos mean nothing
	retired map[uint64]bool
	// nonces of processes that ask for a place which is taken, and when they asked first
	asking map[uint64]ps.Time
	ends   ends
	proof  uint64 // a server that is there has named this view or a later one
	// when a node first named a view that this scheduler cannot know; -1: none has
	forgot ps.Time
}

// newMembers returns the members of a job of which no process has been heard of yet.
func newMembers(d *desk) members {
	return members{desk: d, last: map[wire.Node]ps.Time{}, seen: map[wire.Node]uint64{},
		buried: map[wire.Node]uint64{}, beats: map[wire.Node]wire.Heartbeat{},
		retired: map[uint64]bool{}, asking: map[uint64]ps.Time{}, ends: newEnds(), forgot: -1}
}

// forgive gives all nodes time to be heard of: the scheduler has begun, or has stood still. A
// scheduler that has just begun on an old view asks nodes that were given up to name a new one.
func (ms *members) forgive(began bool) {
	ms.ends.forget()
	clear(ms.asking) // nobody has been heard of since
	ms.each(func(m *wire.Member) {
		ms.last[m.Node] = ms.awake.Time
		if !began && !m.Alive {
			ms.buried[m.Node] = ms.view.Number + 1
			// it can come back only with the view that it is to name
			ms.changed = ms.changed || m.Incarnation != 0 && !m.Left
		}
	})
}

// giveUp gives up nodes that have been silent for too long. A scheduler that was started without
// the view of the one before it gives up itself.
func (ms *members) giveUp() {
	ms.each(func(m *wire.Member) {
		if m.Alive && ms.silence(m.Node) > ms.cfg.Timing.Dead {
			m.Alive, ms.changed = false, true
			ms.buried[m.Node] = ms.view.Number + 1
			ms.out.Report(ps.EventDead, m.Node, 0, 0, "silent for too long")
			if m.Node.Role == wire.Server {
				ms.prove()
			}
		}
	})
	if ms.forgot >= 0 && ms.awake.Time-ms.forgot > ms.cfg.Timing.Dead && len(ms.view.Shards) == 0 {
		ms.out.Fatal = errForgot
	}
}

// prove wants servers to name a view that is yet to be made before anything is decided for their
// sake. It is called when a server is given up, and when the scheduler begins or has stood still.
func (ms *members) prove() {
	ms.proof, ms.changed = ms.view.Number+1, true
}

// silence returns how long a node has not been heard of while the scheduler was awake.
func (ms *members) silence(n wire.Node) ps.Time { return ms.awake.Time - ms.last[n] }

// replaced handles a message of a process that does not hold its place: it sees in the view that it
// has been replaced. One that names a view which this scheduler has not made knows of another
// scheduler, whose view is lost.
func (ms *members) replaced(me *wire.Member, m *wire.Message) {
	ms.tell(me.Node)
	if m.Type == wire.TypeHeartbeat && m.ViewNumber() > ms.view.Number &&
		len(ms.view.Shards) == 0 &&
		ms.forgot < 0 {
		ms.forgot = ms.awake.Time
		ms.out.Report(ps.EventViewFailed, m.From, 0, 0,
			fmt.Sprintf("it knows view %d, this scheduler has made %d", m.ViewNumber(),
				ms.view.Number))
	}
}

// hello gives a process its place. A process that takes over a place ends the incarnation before
// it.
func (ms *members) hello(me *wire.Member, m *wire.Message) {
	h, err := wire.DecodeHello(m.Payload)
	if err != nil || h.Rank != int32(me.Node.Rank) {
		ms.out.Report(ps.EventRefused, m.From, 0, 0, fmt.Sprintf("hello for rank %d: %v", h.Rank,
			err))
		return
	}
	if me.Nonce == h.Nonce {
		ms.last[me.Node] = ms.awake.Time
		ms.ends.hear(me.Node)
		ms.tell(me.Node)
		return
	}
	if ms.retired[h.Nonce] {
		return
	}
	if ms.view.Over() {
		ms.tell(me.Node) // too late: it sees that the job is over
		return
	}
	if ms.held(me, h.Nonce) {
		return
	}
	if me.Nonce != 0 {
		ms.retired[me.Nonce] = true
	}
	if ms.collective() { // it may have been further than the workers that are left
		ms.view.Group.Round = max(ms.view.Group.Round, ms.beats[me.Node].Clock)
	}
	before := *me
	*me = wire.Member{Node: me.Node, Incarnation: ms.view.Next, Alive: true, Nonce: h.Nonce,
		Addr: h.Addr, Calls: before.Calls, Enter: before.Enter, Waits: before.Waits}
	me.Calls.Done = 0
	me.Leaves = ms.beyond(me.Node)
	if before.Left || ms.collective() && before.Incarnation != 0 {
		// Nobody waits for the place: a worker is let in with the next change of the group.
		me.Enter, me.Waits = me.Incarnation, me.Node.Role == wire.Worker
	}
	ms.view.Next++
	ms.last[me.Node], ms.seen[me.Node] = ms.awake.Time, 0
	ms.ends.hear(me.Node)
	delete(ms.beats, me.Node)
	ms.changed = true
	ms.out.Report(ps.EventJoined, me.Node, 0, 0, fmt.Sprintf("incarnation %d at %s", me.Incarnation,
		me.Addr))
}

// heartbeat takes in a sign of life. A node that was given up and had no successor comes back when
// it knows that it was, but for workers under Shrink, whose rounds have been closed without them.
func (ms *members) heartbeat(me *wire.Member, m *wire.Message) {
	if h, err := wire.DecodeHeartbeat(m.Payload); err == nil {
		ms.beats[me.Node] = h
		if h.Leaves && !me.Leaves && !me.Left {
			me.Leaves, ms.changed = true, true
		}
	}
	ms.seen[me.Node] = max(ms.seen[me.Node], m.ViewNumber())
	if m.ViewNumber() < ms.told.Number {
		ms.tell(me.Node)
	} else {
		a := ms.message(wire.TypeHeartbeat)
		a.SetViewNumber(ms.told.Number)
		ms.send(me.Node, a)
	}
	if me.Alive || me.Left || m.ViewNumber() < ms.buried[me.Node] || me.Node.Role == wire.Worker &&
		ms.cfg.Policy == ps.Shrink && !ms.stays(me) {
		return
	}
	me.Alive, ms.changed = true, true
	ms.out.Report(ps.EventDead, me.Node, 0, 0, "alive again")
}

// errForgot ends a scheduler that was started without the view of the one before it.
var errForgot = fmt.Errorf("%w: the job's processes know a later view than this scheduler, "+
	"which was started without the view of the one before it",
	ps.ErrViewChanged)
