package ps

import (
	"errors"
	"fmt"
)

// Leads reports, for a shard that a server serves as primary, its epoch and the index of the last
// entry that it committed.
func (s *Server) Leads(shard int) (epoch, commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != primary {
		return 0, 0, false
	}
	return s.shards[shard].epoch, s.shards[shard].commit, true
}

// Follows reports whether a server is a complete backup of a shard, and the index of the last entry
// that it applied.
func (s *Server) Follows(shard int) (commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != backup ||
		s.shards[shard].blank || s.shards[shard].rebuilding {
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

// Copy returns the value of a slice as a server has it, whether it leads the shard or follows
// another one.
func (s *Server) Copy(id ID) ([]byte, bool) {
	for _, sh := range s.shards {
		if sh != nil && sh.entries[id] != nil {
			return sh.entries[id].value.data(), true
		}
	}
	return nil, false
}

// Lent returns how many parts of ended calls a worker keeps because a transport reads their memory.
func (w *Worker) Lent() int { return len(w.lent) }

// Audit reports parts of calls that are counted wrongly or are in two places.
func (w *Worker) Audit() error {
	place, left := map[*part]string{}, map[*call]int{}
	var err error
	add := func(p *part, where string) {
		if p == nil {
			return
		}
		if other, twice := place[p]; twice {
			err = fmt.Errorf("a part is %s and %s", other, where)
		} else if p.call != nil || where != "unused" && !(where == "lent" && p.kept) {
			left[p.call]++
		}
		place[p] = where
	}
	all := func(list []*part, where string) {
		for _, p := range list {
			add(p, where)
		}
	}
	for _, r := range w.shards {
		for i := range r.flight.n {
			add(r.flight.at(r.flight.first+uint64(i)), "in flight")
		}
		all(r.ready, "ready")
	}
	for _, k := range w.keys {
		for _, sl := range k.slices {
			all(sl.queue, "in a queue")
		}
	}
	all(w.slots, "waiting for an answer")
	all(w.lent, "lent")
	all(w.idle, "unused")
	for c, n := range left {
		if c == nil {
			err = errors.New("a part in use belongs to no call")
		} else if c == w.joining {
			n++
		}
		if c != nil && c.left != n {
			err = fmt.Errorf("%s of key %d has %d parts, counted as %d", c.op, c.key, n, c.left)
		}
	}
	return err
}

// Swap lets the copies of a shard change places now, if they may. It reports whether they do.
func (s *Scheduler) Swap(now Time, shard int) bool {
	s.start(now)
	if shard >= len(s.view.Shards) || s.writing != nil || !s.swappable(&s.view.Shards[shard]) {
		return false
	}
	s.swap(uint32(shard))
	s.settle()
	return true
}
