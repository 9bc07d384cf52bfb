package loop

import "slices"

// Groups is a list of numbers sorted into groups of equal ones: group i has the number Keys[i], and
// Order[Starts[i]:Starts[i+1]] are its places in the list, in their order.
type Groups struct {
	Keys   []int64 // ascending
	Starts []int32 // one more than groups
	Order  []int32
}

// GroupBy groups numbers from 0 to n-1. It sorts by digits, so its time is proportional to the
// length of the list.
func GroupBy(list []int64, n int) Groups {
	order := make([]int32, len(list))
	for i := range order {
		order[i] = int32(i)
	}
	if !slices.IsSorted(list) {
		order = sortByDigits(list, order, n)
	}
	g := Groups{Order: order}
	for i, at := range order {
		if i == 0 || list[at] != g.Keys[len(g.Keys)-1] {
			g.Keys, g.Starts = append(g.Keys, list[at]), append(g.Starts, int32(i))
		}
	}
	g.Starts = append(g.Starts, int32(len(order)))
	return g
}

// digit is the number of bits that one pass of sortByDigits sorts by.
const digit = 11

// sortByDigits sorts the places in order by the numbers of list there; equal numbers keep their
// order.
func sortByDigits(list []int64, order []int32, n int) []int32 {
	other := make([]int32, len(order))
	var count [1<<digit + 1]int32
	for shift := 0; shift < 63 && int64(n-1)>>shift > 0; shift += digit {
		clear(count[:])
		for _, v := range list {
			count[v>>shift&(1<<digit-1)+1]++
		}
		for i := range 1 << digit {
			count[i+1] += count[i]
		}
		for _, at := range order {
			k := list[at] >> shift & (1<<digit - 1)
			other[count[k]] = at
			count[k]++
		}
		order, other = other, order
	}
	return order
}
