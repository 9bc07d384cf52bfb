package loop

import "slices"

// Groups is a list of numbers sorted into groups of equal ones: group i has the number Keys[i], and
// Order[Starts[i]:Starts[i+1]] are its places in the list, in their order.
type Groups struct {
	Keys   []int64 // ascending
	Starts []int64 // one more than groups
	Order  []int32 // nil: the places are 0, 1, …
}

// GroupBy groups numbers from 0 on. It sorts long lists by digits, so its time is proportional to
// the length of the list.
func GroupBy(list []int64) Groups {
	if slices.IsSorted(list) {
		return groups(len(list), func(i int) int64 { return list[i] })
	}
	top := slices.Max(list)
	pairs := make([]pair, len(list))
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
		pairs = sortByDigits(pairs, top)
	}
	g := groups(len(list), func(i int) int64 { return pairs[i].key })
	g.Order = make([]int32, len(list))
	for i, p := range pairs {
		g.Order[i] = p.place
	}
	return g
}

// pair is a number of a list and its place there.
type pair struct {
	key   int64
	place int32
}

// groups finds the groups of n sorted numbers.
func groups(n int, key func(i int) int64) Groups {
	different := 0
	for i := range n {
		if i == 0 || key(i) != key(i-1) {
			different++
		}
	}
	g := Groups{Keys: make([]int64, 0, different), Starts: make([]int64, 0, different+1)}
	for i := range n {
		if i == 0 || key(i) != key(i-1) {
			g.Keys, g.Starts = append(g.Keys, key(i)), append(g.Starts, int64(i))
		}
	}
	g.Starts = append(g.Starts, int64(n))
	return g
}

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
// The result may lie in other memory.
func sortByDigits(pairs []pair, top int64) []pair {
	other := make([]pair, len(pairs))
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
