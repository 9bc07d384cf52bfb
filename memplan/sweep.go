package memplan

import (
	"cmp"
	"math"
	"slices"
)

// gap is a free range of addresses, in bytes, lo included and hi not. The gaps of a sweep are
// sorted and never touch; the last one ends at the largest address there is.
type gap struct{ lo, hi int64 }

// sweep allocates and frees in the order of time, as a perfect allocator with
// free lists would: when an item starts it takes the smallest gap that fits,
// or the lowest one. It gives the same result as placing the items in the
// order of their start, but only ever looks at free bytes: it is the
// heuristic that copes with any number of buffers. Backward in time it is a
// different heuristic.
func sweep(items []item, f fit, backward bool) layout {
	if backward {
		items = mirrored(items)
	}
	// Larger items come first among those that start together, because small ones fit into the gaps
	// that large ones leave. Gaps of items that have ended are joined before the next one starts.
	seq := sequence(items,
		func(i int32) float64 { return float64(items[i].start) },
		func(i int32) float64 { return -float64(items[i].bytes) })
	ending := sequence(items, func(i int32) float64 { return float64(items[i].end) })
	out := layout{offsets: make([]int64, len(items))}
	free := []gap{{0, math.MaxInt64}}
	for _, i := range seq {
		it := items[i]
		for items[ending[0]].end < it.start { // ending has the item itself, so it is not empty
			e := ending[0]
			ending = ending[1:]
			free = release(free, gap{out.offsets[e], out.offsets[e] + items[e].bytes})
		}
		at := choose(free, it.bytes, f)
		lo := free[at].lo
		out.offsets[i] = lo
		out.total = max(out.total, lo+it.bytes)
		if free[at].lo += it.bytes; free[at].lo == free[at].hi {
			free = slices.Delete(free, at, at+1)
		}
	}
	return out
}

// choose returns the position of the gap that the fit takes. The last gap has
// no end and always fits; best fit takes it only when no other does.
func choose(free []gap, bytes int64, f fit) int {
	best := len(free) - 1
	for i, g := range free[:best] {
		size := g.hi - g.lo
		if size < bytes {
			continue
		}
		if f == firstFit || size == bytes {
			return i
		}
		if size < free[best].hi-free[best].lo {
			best = i
		}
	}
	return best
}

// release returns a range to the sorted gaps and joins it with its neighbours.
func release(free []gap, g gap) []gap {
	at, _ := slices.BinarySearchFunc(free, g.lo,
		func(x gap, lo int64) int { return cmp.Compare(x.lo, lo) })
	joinsNext := at < len(free) && free[at].lo == g.hi
	joinsPrev := at > 0 && free[at-1].hi == g.lo
	switch {
	case joinsPrev && joinsNext:
		free[at-1].hi = free[at].hi
		return slices.Delete(free, at, at+1)
	case joinsPrev:
		free[at-1].hi = g.hi
	case joinsNext:
		free[at].lo = g.lo
	default:
		return slices.Insert(free, at, g)
	}
	return free
}

// mirrored turns time around: ranks become negative. A placement of the mirrored items is one of the
// items themselves, because lives meet in both or in neither.
func mirrored(items []item) []item {
	out := slices.Clone(items)
	for i, it := range items {
		out[i].start, out[i].end = -it.end, -it.start
	}
	return out
}
