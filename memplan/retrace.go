package memplan

import (
	"cmp"
	"math/bits"
	"slices"
)

// retraceVisits bounds the work of one retrace, in visits of a placed buffer.
// One way down visits about n² of them for n buffers.
const retraceVisits = 1_000_000

// spare returns what a placement may take beyond the lower bound before it is
// worth retracing: a twentieth, in units of which every size is a multiple,
// because no top of a stack lies between two such units.
func spare(items []item, bound int64) int64 {
	unit := int64(0)
	for _, it := range items {
		for a := it.bytes; a != 0; {
			unit, a = a, unit%a
		}
	}
	return bound / 20 / unit * unit
}

// spot is an offset for an item, and the size of the gap that it lies in, both in bytes.
type spot struct{ lo, gap int64 }

// retracer walks through time, puts every item at an end of some gap and takes
// decisions back when an item fits nowhere. Unlike the greedy placements it
// leaves a gap where a later item needs it, as recurrent networks do whose
// large and small buffers alternate: every fixed division into columns wastes
// bytes there.
//
// This is backtracking with memory of failures: a state is the set of live items and their places,
// and all ways that lead to a failed state fail.
type retracer struct {
	items  []item
	seq    []int32             // positions of items in the order of their start
	limit  int64               // largest end of an item that is allowed, in bytes
	out    layout              // offsets of the items placed so far
	placed []placed            // by address, those that have ended included
	spots  []spot              // of all items on the way down, as a stack
	failed map[uint64]struct{} // states from which no way leads on
	visits int64               // left
}

// retrace looks for a placement of at most limit bytes. The second result says
// whether it has found one.
func retrace(items []item, limit int64, work *int64) (layout, bool) {
	budget := min(retraceVisits, *work)
	if n := int64(len(items)); n*n > budget {
		return layout{}, false
	}
	r := retracer{items: items, limit: limit, visits: budget, failed: map[uint64]struct{}{}}
	r.out.offsets = make([]int64, len(items))
	r.seq = sequence(items,
		func(i int32) float64 { return float64(items[i].start) },
		func(i int32) float64 { return -float64(items[i].bytes) },
		func(i int32) float64 { return -float64(items[i].end) })
	found := r.descend(0)
	*work -= budget - r.visits
	for i, it := range items {
		r.out.total = max(r.out.total, r.out.offsets[i]+it.bytes)
	}
	return r.out, found
}

// descend places the items from position k of the sequence on, and reports whether that succeeded.
// After a failure placed and spots are as they were before. A branch that ends because the visits
// ran out counts as failed; the whole search is over then, so nothing relies on it.
func (r *retracer) descend(k int) bool {
	if k == len(r.seq) {
		return true
	}
	i := r.seq[k]
	it := r.items[i]
	state := r.state(k)
	if _, known := r.failed[state]; known {
		return false
	}
	from := len(r.spots)
	r.push(it)
	for at, to := from, len(r.spots); at < to && r.visits > 0; at++ {
		lo := r.spots[at].lo
		r.out.offsets[i] = lo
		slot := above(r.placed, lo)
		r.placed = slices.Insert(r.placed, slot, placed{lo: lo, hi: lo + it.bytes, start: it.start,
			end: it.end})
		if r.descend(k + 1) {
			return true
		}
		r.placed = slices.Delete(r.placed, slot, slot+1)
	}
	r.spots = r.spots[:from]
	r.failed[state] = struct{}{}
	return false
}

// push puts both ends of every gap that takes the item on the stack, the
// smallest gap first.
func (r *retracer) push(it item) {
	r.visits -= int64(len(r.placed))
	from, top := len(r.spots), int64(0)
	add := func(hi int64) {
		gap := hi - top
		if gap >= it.bytes {
			r.spots = append(r.spots, spot{top, gap})
		}
		if gap > it.bytes {
			r.spots = append(r.spots, spot{hi - it.bytes, gap})
		}
	}
	for i := range r.placed {
		if p := &r.placed[i]; p.end >= it.start {
			add(p.lo)
			top = max(top, p.hi)
		}
	}
	add(r.limit)
	slices.SortStableFunc(r.spots[from:], func(a, b spot) int { return cmp.Compare(a.gap, b.gap) })
}

// The constants of the digest of a state: 2^64 divided by the golden ratio, which spreads numbers
// that are close to each other, and the turn that brings high bits down.
const mixFactor, mixTurn = 0x9e3779b97f4a7c15, 29

// state digests all that matters to the items from position k on: the live
// items, their places and how long they live. Two states with one digest may cost a solution, never
// give a wrong one.
func (r *retracer) state(k int) uint64 {
	r.visits -= int64(len(r.placed))
	h := uint64(k)
	for i := range r.placed {
		if p := &r.placed[i]; p.end >= r.items[r.seq[k]].start {
			for _, v := range [...]uint64{uint64(p.lo), uint64(p.hi), uint64(p.end)} {
				h = bits.RotateLeft64((h^v)*mixFactor, mixTurn)
			}
		}
	}
	return h
}
