package kvstore

import "strings"

// Works reports whether a member is a worker that takes part.
func (m *StatusMember) Works() bool {
	return m.Alive && !m.Left && strings.HasPrefix(m.Node, "worker")
}

// slowest returns the clock of the worker that is furthest behind, 0 if there is none.
func (s *Status) slowest() uint64 {
	slowest, found := uint64(0), false
	for i := range s.Members {
		if m := &s.Members[i]; m.Works() && (!found || m.Clock < slowest) {
			slowest, found = m.Clock, true
		}
	}
	return slowest
}

// Leads returns how many shards a server serves as primary, and of how many it has the second copy.
func (s *Status) Leads(rank int) (primary, backup int) {
	for i := range s.Shards {
		if s.Shards[i].Primary == rank {
			primary++
		}
		if s.Shards[i].Backup == rank {
			backup++
		}
	}
	return primary, backup
}

// Ahead returns by how many clocks a member is ahead of the slowest worker. Its reads are at most
// so stale.
func (s *Status) Ahead(m *StatusMember) uint64 {
	if !m.Works() {
		return 0
	}
	return m.Clock - s.slowest()
}
