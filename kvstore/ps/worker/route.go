package worker

import (
	"gomx/kvstore/ps"
	"gomx/kvstore/ps/node"
	"gomx/kvstore/wire"
)

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
	sent     ps.Time // last transmission of a push
	probed   ps.Time
}

func newRoute(id uint32) *route {
	return &route{id: id, next: 1, flight: flight{node.Window[part]{First: 1}}}
}

// flight is a queue of pushes with consecutive sequences. Committed pushes leave it from the front.
type flight struct{ node.Window[part] }

// commit removes a push.
func (f *flight) commit(seq uint64) {
	if f.At(seq) == nil {
		return
	}
	f.Set(seq, nil)
	for !f.Empty() && f.At(f.First) == nil {
		f.Pop()
	}
}

// returned reports whether the primary, though it is the one we know, may have been a backup in the
// meantime: it has forgotten then which pushes it had taken in and not committed.
func (r *route) returned(epoch uint64) bool { return epoch > r.epoch+1 }

// passCommitted moves received past pushes that are committed: every primary knows them.
func (r *route) passCommitted() {
	f := &r.flight
	r.received = max(r.received, f.First-1)
	for s := r.received + 1; s < f.First+uint64(f.Len()) && f.At(s) == nil; s++ {
		r.received = s
	}
}
