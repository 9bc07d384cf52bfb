package memplan

import (
	"cmp"
	"slices"
)

// item is a buffer as the placers see it: rounded, and with its life in ranks
// of the distinct times, so that times may be arbitrarily large.
type item struct {
	bytes      int64 // a positive multiple of the alignment
	start, end int32 // ranks, inclusive
	index      int32 // position in the caller's list of buffers
}

// group is a set of buffers that may share bytes with one another. Groups are planned one by one.
type group struct {
	items []item  // in the order of the caller's list
	live  []int64 // bytes alive at every rank
	lane  int     // lane of all items where lanes are separate, else 0
}

// groups splits the buffers by lane when lanes are separate. Buffers without
// bytes need no place and are left out.
func groups(buffers []Buffer, cfg Config) []group {
	byLane := map[int][]int32{}
	for i, b := range buffers {
		if b.Bytes == 0 {
			continue
		}
		var lane int
		if cfg.SeparateLanes {
			lane = b.Lane
		}
		byLane[lane] = append(byLane[lane], int32(i))
	}
	lanes := make([]int, 0, len(byLane))
	for lane := range byLane {
		lanes = append(lanes, lane)
	}
	slices.Sort(lanes)
	out := make([]group, len(lanes))
	for i, lane := range lanes {
		out[i] = newGroup(buffers, byLane[lane], cfg.Align)
		out[i].lane = lane
	}
	return out
}

// newGroup ranks the times of the chosen buffers and sums the bytes alive: live gets the size at
// the first rank of an item and loses it behind the last one, and prefix sums do the rest.
func newGroup(buffers []Buffer, chosen []int32, align int64) group {
	var times []int
	for _, i := range chosen {
		times = append(times, buffers[i].Start, buffers[i].End)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	g := group{items: make([]item, len(chosen)), live: make([]int64, len(times))}
	for k, i := range chosen {
		b := &buffers[i]
		start, _ := slices.BinarySearch(times, b.Start)
		end, _ := slices.BinarySearch(times, b.End)
		it := item{bytes: roundUp(b.Bytes, align), start: int32(start), end: int32(end), index: i}
		g.items[k] = it
		g.live[start] += it.bytes
		if end+1 < len(times) {
			g.live[end+1] -= it.bytes
		}
	}
	for t := 1; t < len(g.live); t++ {
		g.live[t] += g.live[t-1]
	}
	return g
}

// peak returns the largest number of bytes alive at once.
func peak(live []int64) int64 {
	if len(live) == 0 {
		return 0
	}
	return slices.Max(live)
}

// crowds returns for every item the largest number of bytes alive at any time of its life. A sparse
// table of maxima over powers of two answers each item by two ranges that overlap (Bender and
// Farach-Colton, The LCA Problem Revisited, section 3); a scan of every life would take time in the
// square of the number of items where lives are long.
func crowds(items []item, live []int64) []int64 {
	table := [][]int64{live}
	for width := 2; width <= len(live); width *= 2 {
		prev := table[len(table)-1]
		next := make([]int64, len(live)-width+1)
		for i := range next {
			next[i] = max(prev[i], prev[i+width/2])
		}
		table = append(table, next)
	}
	out := make([]int64, len(items))
	for i, it := range items {
		level, width := 0, int32(1)
		for it.start+2*width <= it.end+1 {
			level, width = level+1, 2*width
		}
		out[i] = max(table[level][it.start], table[level][it.end+1-width])
	}
	return out
}

// sequence returns the positions of items sorted by the keys, smallest first; a key that shall be
// large first is negative. Sizes are exact as float64 up to 2⁵³ bytes. Items with equal keys are
// sorted by start, then by position, so that plans do not depend on the algorithm of the sort.
func sequence(items []item, keys ...func(i int32) float64) []int32 {
	seq := make([]int32, len(items))
	for i := range seq {
		seq[i] = int32(i)
	}
	slices.SortFunc(seq, func(a, b int32) int {
		for _, key := range keys {
			if c := cmp.Compare(key(a), key(b)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(items[a].start, items[b].start), cmp.Compare(a, b))
	})
	return seq
}
