package worker

import (
	"fmt"

	"gomx/kvstore/ps"
	"gomx/kvstore/wire"
)

// value takes in the answer to a pull. It carries the receipt for pushes, and the outcome of the
// push that it is fused with: that push and its value may arrive in one message, or each in its
// own.
func (ks *keyset) value(r *route, m *wire.Message) {
	a := m.Answer()
	ks.took(r, a.Received)
	var p *part
	if !a.Fused {
		p = ks.asking(a.Seq)
	} else if p = r.flight.At(a.Seq); p == nil {
		p = ks.waiting(r.id, a.Seq)
	}
	if p != nil && p.slice != nil && p.out != nil &&
		p.slice.id == (ps.ID{Key: m.Key, Slice: m.Slice}) {
		ks.arrived(p, m)
	}
	if a.Fused && a.Outcome > 0 {
		ks.commit(r, a.Seq, a.Outcome)
	}
	ks.pump(r)
}

// arrived copies a value to its caller, unless it is older than a version of the slice that the
// worker has seen: messages overtake each other, and a key must not go back. A repeated round is
// the exception: its pull wants exactly the version that it names.
func (ks *keyset) arrived(p *part, m *wire.Message) {
	sl, version := p.slice, m.Answer().Version
	exact := p.flags&wire.FlagExact != 0
	switch {
	case version < p.need, exact && version != p.need, !exact && !sl.key.direct &&
		version < sl.seen:
		ks.stats.Stale++
		return
	}
	switch {
	case sl.key.sparse != nil:
		if !ks.arrivedSparse(p, m) {
			return
		}
	default:
		if len(m.Payload) != len(p.out) {
			ks.me.Out.Report(ps.EventRefused, m.From, m.Shard, m.Epoch,
				fmt.Sprintf("value of %d bytes, want %d", len(m.Payload), len(p.out)))
			return
		}
		copy(p.out, m.Payload)
	}
	// A repeated round shows an old version on purpose: it does not count as seen.
	if !exact {
		sl.seen = max(sl.seen, version)
	}
	ks.stats.Pulls++
	p.call.clock = max(p.call.clock, version)
	p.out = nil
	if p.kind == wire.TypePushPull && !p.final {
		return // the push half ends it
	}
	ks.finish(p)
}
