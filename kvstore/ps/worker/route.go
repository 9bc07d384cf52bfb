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
//
// Invariants:
//  1. Pushes in flight have the sequences from flight.First to next-1; committed ones are gaps.
//  2. received < next.
//  3. bytes is the payload of the pushes in flight behind received that have been sent.
type route struct {
	id       uint32
	epoch    uint64       // of the shard, as far as the worker knows; 0: it has no place yet
	primary  wire.Replica // that serves the shard in this epoch
	lost     bool         // all copies are lost
	next     uint64       // sequence of the next push
	received uint64       // the primary has taken in all up to here
	flight   flight       // pushes that have a sequence and are not committed
	bytes    int          // sent and not received
	ready    []*part      // pushes that have their turn, the next one last
	sent     ps.Time      // last transmission of a push
	probed   ps.Time      // last probe
}

// newRoute returns the way to a shard that has no place yet.
func newRoute(id uint32) *route {
	return &route{id: id, next: 1, flight: flight{node.Window[part]{First: 1}}}
}

// flight is a queue of pushes with consecutive sequences. Committed pushes leave it from the front.
type flight struct{ node.Window[part] }

// commit removes a push that is there. It leaves a gap until all pushes before it are committed.
func (f *flight) commit(seq uint64) {
	f.Set(seq, nil)
	for !f.Empty() && f.At(f.First) == nil {
		f.Pop()
	}
}

// returned reports whether the primary, though it is the one we know, may have been a backup in the
// meantime: it has forgotten then which pushes it had taken in and not committed.
func (r *route) returned(epoch uint64) bool { return epoch > r.epoch+1 }

// passCommitted moves received past pushes that are committed: every primary knows them, so
// repetition begins behind them.
func (r *route) passCommitted() {
	f := &r.flight
	r.received = max(r.received, f.First-1)
	for s := r.received + 1; s < f.First+uint64(f.Len()) && f.At(s) == nil; s++ {
		r.received = s
	}
}
