package loop

import (
	"slices"
	"sync"
)

// Groups is a list of numbers sorted into groups of equal ones: group i has the number Keys[i], and
// Order[Starts[i]:Starts[i+1]] are its places in the list, in their order.
type Groups struct {
	Keys   []int64 // ascending
	Starts []int64 // one more than groups
	Order  []int32 // nil: the places are 0, 1, …
}

// GroupBy groups numbers from 0 on. Long lists are counted or sorted by digits, so its time is
// proportional to the length of the list.
func GroupBy(list []int64) Groups {
	switch {
	case slices.IsSorted(list):
		return sortedGroups(list)
	case len(list) > shortList && slices.Max(list) < 8*int64(len(list)):
		return countedGroups(list, int(slices.Max(list))+1)
	}
	room := pairRoom.Get().(*[2][]pair)
	defer pairRoom.Put(room)
	for i := range room {
		room[i] = slices.Grow(room[i][:0], len(list))[:len(list)]
	}
	pairs := room[0]
	for i, v := range list {
		pairs[i] = pair{v, int32(i)}
	}
	if len(list) <= shortList {
		slices.SortFunc(pairs, func(a, b pair) int {
			if a.key != b.key {
				return int(a.key - b.key)
			}
			return int(a.place - b.place)
		})
	} else {
		pairs = sortByDigits(pairs, room[1], slices.Max(list))
	}
	sorted, order := make([]int64, len(list)), make([]int32, len(list))
	for i, p := range pairs {
		sorted[i], order[i] = p.key, p.place
	}
	g := sortedGroups(sorted)
	g.Order = order
	return g
}

// pair is a number of a list and its place there.
type pair struct {
	key   int64
	place int32
}

// pairRoom has memory for two lists of pairs.
var pairRoom = sync.Pool{New: func() any { return new([2][]pair) }}

// sortedGroups finds the groups of sorted numbers.
func sortedGroups(list []int64) Groups {
	different := 0
	for i, v := range list {
		if i == 0 || v != list[i-1] {
			different++
		}
	}
	g := Groups{Keys: make([]int64, 0, different), Starts: make([]int64, 0, different+1)}
	for i, v := range list {
		if i == 0 || v != list[i-1] {
			g.Keys, g.Starts = append(g.Keys, v), append(g.Starts, int64(i))
		}
	}
	g.Starts = append(g.Starts, int64(len(list)))
	return g
}

// countRoom has memory for a counter of each number.
var countRoom = sync.Pool{New: func() any { return new([]int32) }}

// countedGroups finds the groups of numbers below limit by counting each of them.
func countedGroups(list []int64, limit int) Groups {
	room := countRoom.Get().(*[]int32)
	defer countRoom.Put(room)
	*room = slices.Grow((*room)[:0], limit)[:limit]
	count, different := *room, 0
	clear(count)
	for _, v := range list {
		different += 1 - positive(count[v])
		count[v]++
	}
	g := Groups{Keys: make([]int64, different+1), Starts: make([]int64, different+1)}
	k, at := 0, int32(0)
	for v, n := range count { // without branches, which no processor would guess
		g.Keys[k], g.Starts[k] = int64(v), int64(at)
		k += positive(n)
		count[v] = at
		at += n
	}
	g.Keys, g.Starts[k] = g.Keys[:k], int64(at)
	g.Order = make([]int32, len(list))
	for i, v := range list {
		g.Order[count[v]] = int32(i)
		count[v]++
	}
	return g
}

// positive returns 1 for a number above 0, and 0 for 0.
func positive(n int32) int { return int(uint32(-n) >> 31) }

// Places returns the places of group i.
func (g *Groups) Places(i int) []int32 {
	from, to := g.Starts[i], g.Starts[i+1]
	if g.Order != nil {
		return g.Order[from:to]
	}
	list := make([]int32, to-from)
	for k := range list {
		list[k] = int32(from) + int32(k)
	}
	return list
}

const (
	shortList = 512 // numbers that are sorted by comparison
	digit     = 11  // bits that one pass of sortByDigits sorts by
)

// sortByDigits sorts pairs by their keys, of which top is the largest; equal keys keep their order.
// The result may lie in other, which has the same length.
func sortByDigits(pairs, other []pair, top int64) []pair {
	var count [1<<digit + 1]int32
	for shift := 0; shift < 63 && top>>shift > 0; shift += digit {
		clear(count[:])
		for i := range pairs {
			count[pairs[i].key>>shift&(1<<digit-1)+1]++
		}
		for i := range 1 << digit {
			count[i+1] += count[i]
		}
		for _, p := range pairs {
			k := p.key >> shift & (1<<digit - 1)
			other[count[k]] = p
			count[k]++
		}
		pairs, other = other, pairs
	}
	return pairs
}
