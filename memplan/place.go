package memplan

import "slices"

// scanBudget bounds the work of all placements of one Compute, in visits of a
// placed buffer (about a nanosecond each). It is a count and not a time so
// that plans do not depend on the machine.
const scanBudget = 250_000_000

// fit says which gap a placement takes.
type fit uint8

const (
	firstFit fit = iota // the lowest gap that is large enough
	bestFit             // the smallest gap that is large enough
)

// layout is a complete placement: offsets by position in the items.
type layout struct {
	offsets []int64
	total   int64
	seq     []int32 // the sequence that gave it, nil for sweeps
	fit     fit
}

// placed is an occupied rectangle of address and time.
type placed struct {
	lo, hi     int64
	start, end int32
}

// chunkSize bounds the pieces of a shelf: short enough to insert quickly, long
// enough to be scanned like an array.
const chunkSize = 256

// shelf holds placed rectangles sorted by lo, in chunks.
type shelf struct {
	chunks [][]placed
	free   [][]placed // emptied chunks for the next run
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
	at, _ := slices.BinarySearchFunc(s.chunks, p.lo, func(c []placed, lo int64) int {
		if c[0].lo <= lo {
			return -1
		}
		return 1
	})
	if at == 0 {
		if len(s.chunks) == 0 {
			s.chunks = append(s.chunks, append(s.chunk(), p))
			return
		}
		at = 1
	}
	c := s.chunks[at-1]
	if len(c) == chunkSize {
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

// above returns the position behind the sorted rectangles that start at the
// address or below.
func above(sorted []placed, lo int64) int {
	at, _ := slices.BinarySearchFunc(sorted, lo, func(p placed, lo int64) int {
		if p.lo <= lo {
			return -1
		}
		return 1
	})
	return at
}

// find returns the offset that the fit chooses for an item.
func (s *shelf) find(it item, f fit) int64 {
	top, best, bestGap := int64(0), int64(-1), int64(0)
	for _, c := range s.chunks {
		for i := range c {
			p := &c[i]
			if p.end < it.start || p.start > it.end {
				continue
			}
			if gap := p.lo - top; gap >= it.bytes && (best < 0 || gap < bestGap) {
				if f == firstFit || gap == it.bytes {
					return top
				}
				best, bestGap = top, gap
			}
			top = max(top, p.hi)
		}
	}
	if best >= 0 {
		return best
	}
	return top
}

// place puts the items down in the sequence's order. It gives up as soon as
// one of them would end at or above limit, and returns that one's position in
// the sequence; -1 means that all fitted, -2 that the work ran out.
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
	return out, -1
}
