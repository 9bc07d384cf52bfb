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

// Unreachable says that a message to a node could not be sent because there is no connection to it.
func (s *Scheduler) Unreachable(n wire.Node) {
	if _, known := s.ends.closed[n]; !known && s.ends.heard[n] {
		s.ends.closed[n] = s.awake.Time
	}
}

// hungUp reports whether a node has had no connection for so long that its process must be dead.
func (s *Scheduler) hungUp(n wire.Node) bool {
	since, closed := s.ends.closed[n]
	return closed && s.awake.Time-since > 3*s.cfg.Timing.Dead
}

// look sends something to silent servers now and then: it shows whether they have connections.
func (s *Scheduler) look() {
	if s.awake.Time < s.ends.probe {
		return
	}
	s.ends.probe = s.awake.Time + s.cfg.Timing.Heartbeat
	for i := range s.view.Servers {
		if m := &s.view.Servers[i]; !m.Alive && !m.Left && s.ends.heard[m.Node] {
			a := s.message(wire.TypeHeartbeat)
			a.SetViewNumber(s.told.Number)
			s.send(m.Node, a)
		}
	}
}
