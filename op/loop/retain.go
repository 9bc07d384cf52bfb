package loop

import (
	"slices"
	"sync"

	"gomx/op"
)

// Retain fills the values of out, whose indices are set, with the rows that from stores; the other
// rows are zero. The indices of both ascend; those of out may repeat.
func Retain(out, from *op.Sparse, threads int) {
	room := placeRoom.Get().(*[]int64)
	defer placeRoom.Put(room)
	*room = slices.Grow((*room)[:0], out.N)[:out.N]
	at := *room
	FindRows(at, out.Indices[:out.N], from.Indices[:from.N], threads)
	GatherRows(out.Values(), from.Values(), at, out.Row(), threads)
}

// FindRows finds the place in list of each wanted row, -1 for none. Both lists ascend; wanted may
// repeat rows.
func FindRows(at, wanted, list []int64, threads int) {
	Split(threads, len(wanted), len(wanted), func(begin, end int) {
		if len(list) > manyRows*len(wanted) {
			searchRows(at[begin:end], wanted[begin:end], list)
			return
		}
		first := 0
		if begin < end {
			first = Search(list, wanted[begin])
		}
		mergeRows(at[begin:end], wanted[begin:end], list, first)
	})
}

// manyRows is the number of rows for each wanted one from which on a search finds them faster than
// a walk over all rows.
const manyRows = 16

// placeRoom has memory for places of rows.
var placeRoom = sync.Pool{New: func() any { return new([]int64) }}

// searchRows is FindRows for a list that is much longer than wanted.
func searchRows(at, wanted, list []int64) {
	k := 0
	for i, r := range wanted {
		k += Search(list[k:], r)
		if at[i] = int64(k); k == len(list) || list[k] != r {
			at[i] = -1
		}
	}
}

// mergeRows is FindRows for lists of like lengths, from place k of list on: it walks over both
// without branches, which no processor would guess.
func mergeRows(at, wanted, list []int64, k int) {
	i := 0
	for i < len(wanted) && k < len(list) {
		r, f := wanted[i], list[k]
		less, more := (f-r)>>63, (r-f)>>63 // -1 or 0
		at[i] = int64(k) | less | more
		i += 1 + int(less)
		k -= int(less)
	}
	for ; i < len(wanted); i++ {
		at[i] = -1
	}
}

// Search returns the number of elements of an ascending list below v. It looks at the first ones
// first: its time is the logarithm of the result.
func Search(list []int64, v int64) int {
	hi := 1
	for hi <= len(list) && list[hi-1] < v {
		hi *= 2
	}
	lo := hi / 2
	hi = min(hi-1, len(list))
	for lo < hi {
		if mid := (lo + hi) / 2; list[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
