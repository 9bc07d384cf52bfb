package memplan

import (
	"math"
	"slices"
	"sort"
)

// scanBudget bounds the work of all placements of one Compute, in visits of a
// placed buffer (about a nanosecond each). It is a count and not a time so
// that plans do not depend on the machine.
const scanBudget = 250_000_000

// fit says which gap a placement takes (Knuth, The Art of Computer Programming 1, section 2.5).
type fit uint8

const (
	firstFit fit = iota // the lowest gap that is large enough
	bestFit             // the smallest gap that is large enough
)

// layout is a complete placement. It is not changed once a heuristic has returned it.
type layout struct {
	offsets []int64 // by position in the items, in bytes
	total   int64   // the largest end of an item, in bytes
	seq     []int32 // order in which the items were placed, nil for sweeps
	fit     fit     // rule by which they were placed
}

// placed is an occupied rectangle of address and time: bytes from lo up to but without hi, ranks
// from start to end inclusive.
type placed struct {
	lo, hi     int64
	start, end int32
}

// chunkSize bounds the pieces of a shelf: short enough to insert quickly, long
// enough to be scanned like an array.
const chunkSize = 256

// shelf holds placed rectangles in chunks. One shelf serves all placements of a search, one after
// the other, so that they allocate no memory after the first.
//
// Invariants:
//
//  1. Rectangles are sorted by lo, within a chunk and from chunk to chunk.
//  2. No chunk is empty or longer than chunkSize.
//  3. count is the number of all rectangles.
type shelf struct {
	chunks [][]placed
	free   [][]placed // chunks that the next placement may use
	count  int
}

// reset empties the shelf and keeps its memory.
func (s *shelf) reset() {
	s.free = append(s.free, s.chunks...)
	s.chunks = s.chunks[:0]
	s.count = 0
}

// chunk returns an empty chunk.
func (s *shelf) chunk() []placed {
	if n := len(s.free); n > 0 {
		c := s.free[n-1]
		s.free = s.free[:n-1]
		return c[:0]
	}
	return make([]placed, 0, chunkSize)
}

// insert adds a rectangle behind those that start at the same address or below.
func (s *shelf) insert(p placed) {
	s.count++
	at := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i][0].lo > p.lo })
	// The rectangle goes to the last chunk that begins at its address or below; one that begins
	// below all others goes to the first chunk.
	if at == 0 {
		if len(s.chunks) == 0 {
			s.chunks = append(s.chunks, append(s.chunk(), p))
			return
		}
		at = 1
	}
	c := s.chunks[at-1]
	if len(c) == chunkSize {
		// A full chunk is halved. Both halves are in use afterwards, so the lower one keeps its
		// array and the upper one gets a chunk that an earlier placement has left.
		upper := append(s.chunk(), c[chunkSize/2:]...)
		s.chunks[at-1] = c[:chunkSize/2]
		s.chunks = slices.Insert(s.chunks, at, upper)
		if upper[0].lo <= p.lo {
			at++
		}
		c = s.chunks[at-1]
	}
	s.chunks[at-1] = slices.Insert(c, above(c, p.lo), p)
}

// above returns where insert puts a rectangle that begins at lo: the position behind the sorted
// rectangles that start at the address or below.
func above(sorted []placed, lo int64) int {
	return sort.Search(len(sorted), func(i int) bool { return sorted[i].lo > lo })
}

// find returns the offset that the fit chooses for an item. It walks upwards through the rectangles
// whose times meet the item's; top is the end of the highest one so far, so the space between top
// and the next rectangle is free during the whole life of the item.
func (s *shelf) find(it item, f fit) int64 {
	top, best, smallest := int64(0), int64(0), int64(math.MaxInt64)
	for _, c := range s.chunks {
		for i := range c {
			p := &c[i]
			if p.end < it.start || p.start > it.end {
				continue
			}
			if gap := p.lo - top; gap >= it.bytes && gap < smallest {
				if f == firstFit || gap == it.bytes {
					return top
				}
				best, smallest = top, gap
			}
			top = max(top, p.hi)
		}
	}
	if smallest == math.MaxInt64 {
		return top
	}
	return best
}

// place puts the items down in the sequence's order. It gives up as soon as
// one of them would end at or above limit, and returns that one's position in
// the sequence; -1 means that all fitted, -2 that the work ran out. work is the number of visits
// that are left to all placements of one Compute; it counts down.
func (s *shelf) place(items []item, seq []int32, f fit, limit int64, work *int64) (layout, int) {
	s.reset()
	out := layout{offsets: make([]int64, len(items)), seq: seq, fit: f}
	for k, i := range seq {
		it := items[i]
		if *work -= int64(s.count); *work < 0 {
			return out, -2
		}
		lo := s.find(it, f)
		hi := lo + it.bytes
		if hi >= limit {
			return out, k
		}
		out.offsets[i] = lo
		out.total = max(out.total, hi)
		s.insert(placed{lo: lo, hi: hi, start: it.start, end: it.end})
	}
	if Invariants {
		demand(s.check())
	}
	return out, -1
}
