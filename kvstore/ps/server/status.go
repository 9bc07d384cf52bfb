package server

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/rows"
	"gomx/kvstore/wire"
)

// Stats counts the work of a server.
type Stats struct {
	Pushes     uint64 // pushes received for the first time
	Duplicates uint64 // pushes received again
	Early      uint64 // pushes received before one that they follow, and dropped
	Late       uint64 // pushes whose round was closed without them
	Rounds     uint64 // rounds closed
	Entries    uint64 // log entries applied, as primary and as backup
	Pulls      uint64 // pulls answered
	Rejected   uint64 // messages refused with a reason
	Refused    uint64 // messages dropped because they make no sense
	Held       uint64 // bytes held now because a lower rank has not contributed
	Parked     int    // pulls that wait now
	Memory     uint64 // bytes of values and rounds now
	LogLength  int    // log entries not yet on all copies
}

// heartbeat sums up the server's state for people to see: the furthest clock of its shards, the
// worker that a round waits for, the pulls that wait. No decision rests on it.
func (s *Server) heartbeat() wire.Heartbeat {
	h := wire.Heartbeat{Queue: s.stats.Held, Waiting: -1, Leaves: s.leaves}
	for _, sh := range s.shards {
		if sh == nil || sh.role != primary {
			continue
		}
		for _, e := range sh.order {
			h.Clock = max(h.Clock, e.clock(s.host))
			if rd := e.open(e.closed + 1); rd != nil && h.Waiting < 0 {
				h.Waiting = int32(s.missing(e, rd))
			}
		}
		h.Parked += uint32(sh.parked)
	}
	return h
}

// Stats returns the figures of the server so far. The ones that are about now are taken from the
// copies of shards that it has.
func (s *Server) Stats() Stats {
	st := s.stats
	st.Memory = s.mem.used
	for _, sh := range s.shards {
		if sh != nil {
			st.Parked += sh.parked
			st.LogLength += sh.log.Len()
			for _, e := range sh.order {
				st.Memory += uint64(e.sparse.Bytes())
			}
		}
	}
	return st
}

// Checksum returns a checksum over a shard's whole replicated state and the index of its last log
// entry; ok is false when the server has no complete copy. Copies with the same index have the same
// checksum.
func (s *Server) Checksum(shard uint32) (index uint64, sum uint32, ok bool) {
	if int(shard) >= len(s.shards) || s.shards[shard] == nil || !s.shards[shard].whole() {
		return 0, 0, false
	}
	sh := s.shards[shard]
	return sh.commit, sh.checksum(), true
}

// Leads reports, for a shard that a server serves as primary, its epoch and the index of the last
// entry that it committed.
func (s *Server) Leads(shard int) (epoch, commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != primary {
		return 0, 0, false
	}
	return s.shards[shard].epoch, s.shards[shard].commit, true
}

// Follows reports whether a server is a complete backup of a shard, and the index of the last entry
// that it applied. Leads and Follows never both hold for one shard.
func (s *Server) Follows(shard int) (commit uint64, ok bool) {
	if shard >= len(s.shards) || s.shards[shard] == nil || s.shards[shard].role != backup ||
		s.shards[shard].blank || s.shards[shard].rebuilding {
		return 0, false
	}
	return s.shards[shard].commit, true
}

// Value returns the value and version of a slice that the server leads. Of a sparse key it is made
// of all rows of the slice.
func (s *Server) Value(id ps.ID) ([]byte, uint64, bool) {
	for _, sh := range s.shards {
		if sh != nil && sh.entries[id] != nil && sh.role == primary {
			return sh.entries[id].dense(), sh.entries[id].version, true
		}
	}
	return nil, 0, false
}

// Copy returns the value of a slice as a server has it, whether it leads the shard or follows
// another one. The bytes belong to the server, and change with its next reaction.
func (s *Server) Copy(id ps.ID) ([]byte, bool) {
	for _, sh := range s.shards {
		if sh != nil && sh.entries[id] != nil {
			return sh.entries[id].dense(), true
		}
	}
	return nil, false
}

// RowStates returns the rows of a sparse key that exist, with the optimizer's states if they are
// wanted, if the server leads the shard: rows from one on, in the order of this copy, about so many
// bytes of them.
func (s *Server) RowStates(id ps.ID, w wire.RowsAsk, bytes int) (st rows.States, ok bool) {
	for _, sh := range s.shards {
		if sh != nil && sh.role == primary && sh.entries[id] != nil &&
			sh.entries[id].sparse != nil {
			return sh.entries[id].sparse.Store.Export(w, bytes), true
		}
	}
	return rows.States{}, false
}
