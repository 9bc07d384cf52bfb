package ps

// Leads reports, for a shard that a server serves as primary, its epoch and the index of the last entry that it committed.
func (s *Server) Leads(shard int) (epoch, commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != primary {
		return 0, 0, false
	}
	return s.shards[shard].epoch, s.shards[shard].commit, true
}

// Follows reports whether a server is a complete backup of a shard, and the index of the last entry that it applied.
func (s *Server) Follows(shard int) (commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != backup || s.shards[shard].blank || s.shards[shard].rebuilding {
		return 0, false
	}
	return s.shards[shard].commit, true
}

// Value returns a copy's value of a slice.
func (s *Server) Value(id ID) ([]byte, uint64, bool) {
	for _, sh := range s.shards {
		if sh != nil && sh.entries[id] != nil && sh.role == primary {
			return sh.entries[id].value.data(), sh.entries[id].version, true
		}
	}
	return nil, 0, false
}

// Lent returns how many parts of ended calls a worker keeps because a transport reads their memory.
func (w *Worker) Lent() int { return len(w.lent) }

// Swap lets the copies of a shard change places now, if they may. It reports whether they do.
func (s *Scheduler) Swap(now Time, shard int) bool {
	s.start(now)
	if shard >= len(s.view.Shards) || !s.swappable(&s.view.Shards[shard]) {
		return false
	}
	s.swap(uint32(shard))
	s.settle()
	return true
}
