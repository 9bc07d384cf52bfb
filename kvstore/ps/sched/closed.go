package sched

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// The kernel closes the connections of a process that dies, and keeps them open for one that only
// stands still. So shards whose copies are all silent are given up soon when the connections of
// their servers are closed, and waited for otherwise. A closed connection says nothing else: a
// process that lives makes another one within a moment.

// ends is a scheduler's knowledge of the connections of others to it. Nodes count that have been
// heard of since the scheduler began or stood still: others may have made no connection yet.
type ends struct {
	heard  map[wire.Node]bool
	closed map[wire.Node]ps.Time // awake time at which the connection was found closed
	// awake time at which connections of silent servers are looked at again
	probe ps.Time
}

// newEnds returns a scheduler's knowledge when it begins: no connection counts.
func newEnds() ends { return ends{heard: map[wire.Node]bool{}, closed: map[wire.Node]ps.Time{}} }

// forget lets nobody count.
func (e *ends) forget() {
	clear(e.heard)
	clear(e.closed)
}

// hear notes that a message has come from a node: it has a connection.
func (e *ends) hear(n wire.Node) {
	e.heard[n] = true
	delete(e.closed, n)
}

// unreachable notes that there is no connection to a node.
func (ms *members) unreachable(n wire.Node) {
	if _, known := ms.ends.closed[n]; !known && ms.ends.heard[n] {
		ms.ends.closed[n] = ms.awake.Time
	}
}

// hungUp reports whether a node has had no connection for so long that its process must be dead.
func (ms *members) hungUp(n wire.Node) bool {
	since, closed := ms.ends.closed[n]
	return closed && ms.awake.Time-since > 3*ms.cfg.Timing.Dead
}

// look sends something to silent servers now and then: it shows whether they have connections.
func (ms *members) look() {
	if ms.awake.Time < ms.ends.probe {
		return
	}
	ms.ends.probe = ms.awake.Time + ms.cfg.Timing.Heartbeat
	for i := range ms.view.Servers {
		if m := &ms.view.Servers[i]; !m.Alive && !m.Left && ms.ends.heard[m.Node] {
			a := ms.message(wire.TypeHeartbeat)
			a.SetViewNumber(ms.told.Number)
			ms.send(m.Node, a)
		}
	}
}
