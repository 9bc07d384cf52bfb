package memplan

import (
	"math"
	"slices"
)

// The improvement rounds when none are configured: as many as take about roundVisits visits of a
// placed buffer, which is 20 ms, within limits.
const (
	fewestRounds = 64         // also for thousands of buffers
	mostRounds   = 5000       // also for ten buffers
	roundVisits  = 20_000_000 // visits of a placed buffer in all rounds together
)

// roundsFor returns the number of improvement rounds for n buffers, a round being n²/2 visits.
func roundsFor(n int) int {
	return max(fewestRounds, min(mostRounds, roundVisits/(n*n/2+1)))
}

// search tries every heuristic, improves the best result and returns it. It stops as soon as the
// lower bound is reached. Sweeps come first: they cost least, take no work from the budget, and
// give the limit that every placement has to beat.
//
// The orders are those that do well on the graphs of networks: training has
// nested lives, for which early or long ones go to the bottom; inference has
// short ones around a peak, for which the crowded times are packed first
// ("greedy by breadth" and "greedy by size" of Pisarchyk and Lee, Efficient
// Memory Management for Deep Neural Net Inference, section 4).
func search(items []item, live []int64, rounds int, work *int64) layout {
	bound := peak(live)
	best := layout{total: math.MaxInt64}
	better := func(l layout) bool {
		if l.total < best.total {
			best = l
		}
		return best.total == bound
	}
	for _, backward := range []bool{false, true} {
		for _, f := range []fit{bestFit, firstFit} {
			if better(sweep(items, f, backward)) {
				return best
			}
		}
	}
	var s shelf
	seqs := sequences(items, live)
	fallback := seqs[0]
	for _, seq := range seqs {
		for _, f := range [2]fit{bestFit, firstFit} {
			l, failed := s.place(items, seq, f, best.total, work)
			if failed == -1 && better(l) {
				return best
			}
			if failed == -2 {
				return best
			}
		}
	}
	if best.seq == nil {
		best.seq = fallback
	}
	// The decision to retrace, and the limit, must not depend on the rounds: else
	// more rounds could give a larger result.
	limit := bound + spare(items, bound)
	loose := rounds > 0 && best.total > limit
	best = improve(&s, items, best, bound, rounds, work)
	if loose && best.total > bound {
		if l, found := retrace(items, limit, work); found {
			better(l)
		}
	}
	return best
}

// sequences returns the orders to place the items in, the most promising first: placing stops where
// one of them reaches the lower bound.
func sequences(items []item, live []int64) [][]int32 {
	crowd := crowds(items, live)
	size := func(i int32) float64 { return -float64(items[i].bytes) }
	length := func(i int32) float64 { return float64(items[i].start - items[i].end) }
	crowded := func(i int32) float64 { return -float64(crowd[i]) }
	area := func(i int32) float64 {
		return -float64(items[i].bytes) * float64(items[i].end-items[i].start+1)
	}
	return [][]int32{
		sequence(items, crowded, size),
		sequence(items, crowded, length, size),
		sequence(items, area, size),
		sequence(items, size, length),
		sequence(items, length, size),
	}
}

// improve repeats the best placement with a limit just below its total. An item that does not fit
// under the limit is moved forward in the order and everything is placed again ("squeaky wheel"
// optimization: Joslin and Clements, Journal of Artificial Intelligence Research 10, 1999). Each
// success lowers the limit. Every fourth round takes the other fit, because an order that fails by
// one may succeed by the other.
func improve(s *shelf, items []item, best layout, bound int64, rounds int, work *int64) layout {
	seq := slices.Clone(best.seq)
	for r := 0; r < rounds && best.total > bound; r++ {
		f := best.fit
		if r%4 == 3 {
			f = 1 - f
		}
		l, failed := s.place(items, seq, f, best.total, work)
		// A placement that succeeds is smaller than best.total by the meaning of the limit.
		switch {
		case failed == -2:
			return best
		case failed == -1:
			l.seq = slices.Clone(seq)
			best = l
		default:
			forward(seq, failed, r)
		}
	}
	return best
}

// forward moves the item at position at towards the front: half way, and every
// third round all the way, which leaves cycles.
func forward(seq []int32, at, round int) {
	to := at / 2
	if round%3 == 2 {
		to = 0
	}
	i := seq[at]
	copy(seq[to+1:at+1], seq[to:at])
	seq[to] = i
}
