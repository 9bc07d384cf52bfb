package ps

import "gomx/kvstore/wire"

// route is a worker's way to one shard.
//
// Pushes leave in the order of their sequences and are taken in by the server in that order. Pushes
// that were sent and not received are repeated from the first gap on; a probe, which carries no
// values, asks for pushes that were received and not committed.
type route struct {
	id       uint32
	epoch    uint64
	primary  wire.Replica
	lost     bool
	next     uint64 // sequence of the next push
	received uint64 // the primary has taken in all up to here
	flight   flight
	bytes    int     // sent and not received
	ready    []*part // pushes that have their turn, the next one last
	sent     Time    // last transmission of a push
	probed   Time
}

func newRoute(id uint32) *route {
	return &route{id: id, next: 1, flight: flight{window[part]{first: 1}}}
}

// flight is a queue of pushes with consecutive sequences. Committed pushes leave it from the front.
type flight struct{ window[part] }

// commit removes a push.
func (f *flight) commit(seq uint64) {
	if f.at(seq) == nil {
		return
	}
	f.ring[f.place(seq)] = nil
	for f.n > 0 && f.ring[f.head] == nil {
		f.pop()
	}
}

// returned reports whether the primary, though it is the one we know, may have been a backup in the
// meantime: it has forgotten then which pushes it had taken in and not committed.
func (r *route) returned(epoch uint64) bool { return epoch > r.epoch+1 }

// passCommitted moves received past pushes that are committed: every primary knows them.
func (r *route) passCommitted() {
	f := &r.flight
	r.received = max(r.received, f.first-1)
	for s := r.received + 1; s < f.first+uint64(f.n) && f.at(s) == nil; s++ {
		r.received = s
	}
}
