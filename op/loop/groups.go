package loop

import (
	"cmp"
	"slices"
	"sync"

	"gomx/dtype"
	"gomx/op"
)

// Groups is a list of numbers sorted into groups of equal ones: group i has the number Keys[i], and
// Order[Starts[i]:Starts[i+1]] are its places in the list, in their order.
type Groups struct {
	Keys   []int64 // ascending
	Starts []int64 // one more than groups
	Order  []int32 // nil: the places are 0, 1, …

	room *groupRoom // memory that Free gives back, nil for none
}

// GroupBy groups numbers from 0 on. Long lists are counted or sorted by digits, so its time is
// proportional to the length of the list.
func GroupBy(list []int64) Groups {
	return new(groupRoom).group(list, slices.IsSorted(list))
}

// GroupRows groups the elements of t as numbers of n rows, of which those out of range become the
// nearest. The caller may give the memory of the groups back with Free.
func GroupRows(t op.Tensor, n int) Groups {
	room := groupRooms.Get().(*groupRoom)
	room.list = resized(room.list, t.Shape.Size())
	read := nearestRows
	if t.DType == dtype.Float32 {
		read = readRows
	}
	sorted, different := read(room.list, t, n)
	if !different {
		g := room.group(room.list, sorted)
		g.room = room
		return g
	}
	for k := len(room.counts); k <= len(room.list); k++ {
		room.counts = append(room.counts, int64(k))
	}
	return Groups{Keys: room.list, Starts: room.counts[:len(room.list)+1], room: room}
}

// Free gives memory that GroupRows took back; the lists of g must not be used any more.
func (g *Groups) Free() {
	if g.room != nil {
		groupRooms.Put(g.room)
	}
	*g = Groups{}
}

// groupRoom has memory for groups and for finding them.
type groupRoom struct {
	list, sorted, keys, starts []int64
	counts                     []int64 // 0, 1, …: the starts of groups of one number each
	order, count               []int32
	pairs                      [2][]pair
}

var groupRooms = sync.Pool{New: func() any { return new(groupRoom) }}

// resized returns a list of n undefined numbers, in the memory of s where that is enough.
func resized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

// group groups a list.
func (r *groupRoom) group(list []int64, sorted bool) Groups {
	switch {
	case sorted:
		return r.sortedGroups(list)
	case len(list) > shortList && slices.Max(list) < 8*int64(len(list)):
		return r.countedGroups(list, int(slices.Max(list))+1)
	}
	for i := range r.pairs {
		r.pairs[i] = resized(r.pairs[i], len(list))
	}
	pairs := r.pairs[0]
	for i, v := range list {
		pairs[i] = pair{v, int32(i)}
	}
	if len(list) <= shortList {
		slices.SortFunc(pairs, func(a, b pair) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.place, b.place))
		})
	} else {
		pairs = sortByDigits(pairs, r.pairs[1], slices.Max(list))
	}
	r.sorted, r.order = resized(r.sorted, len(list)), resized(r.order, len(list))
	for i, p := range pairs {
		r.sorted[i], r.order[i] = p.key, p.place
	}
	g := r.sortedGroups(r.sorted)
	g.Order = r.order
	return g
}

// pair is a number of a list and its place there.
type pair struct {
	key   int64
	place int32
}

// sortedGroups finds the groups of sorted numbers.
func (r *groupRoom) sortedGroups(list []int64) Groups {
	different := 0
	for i, v := range list {
		if i == 0 || v != list[i-1] {
			different++
		}
	}
	r.keys, r.starts = resized(r.keys, different), resized(r.starts, different+1)
	k := 0
	for i, v := range list {
		if i == 0 || v != list[i-1] {
			r.keys[k], r.starts[k] = v, int64(i)
			k++
		}
	}
	r.starts[k] = int64(len(list))
	return Groups{Keys: r.keys, Starts: r.starts}
}

// countedGroups finds the groups of numbers below limit by counting each of them.
func (r *groupRoom) countedGroups(list []int64, limit int) Groups {
	r.count = resized(r.count, limit)
	count, different := r.count, 0
	clear(count)
	for _, v := range list {
		different += 1 - positive(count[v])
		count[v]++
	}
	r.keys, r.starts = resized(r.keys, different+1), resized(r.starts, different+1)
	g := Groups{Keys: r.keys, Starts: r.starts}
	k, at := 0, int32(0)
	for v, n := range count { // without branches, which no processor would guess
		g.Keys[k], g.Starts[k] = int64(v), int64(at)
		k += positive(n)
		count[v] = at
		at += n
	}
	g.Keys, g.Starts[k] = g.Keys[:k], int64(at)
	r.order = resized(r.order, len(list))
	g.Order = r.order
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
