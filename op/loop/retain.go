package loop

import "gomx/op"

// Retain fills the values of out, whose indices are set, with the rows that from stores; the other
// rows are zero. The indices of both ascend; those of out may repeat.
func Retain(out, from *op.Sparse, threads int) {
	at := make([]int64, out.N)
	Split(threads, out.N, out.N, func(begin, end int) {
		k := 0
		for i := begin; i < end; i++ {
			r := out.Indices[i]
			k += Search(from.Indices[k:], r)
			if at[i] = int64(k); k == from.N || from.Indices[k] != r {
				at[i] = -1
			}
		}
	})
	GatherRows(out.Values(), from.Values(), at, out.Row(), threads)
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
