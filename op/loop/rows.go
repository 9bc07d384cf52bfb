package loop

import (
	"slices"

	"gomx/op"
)

// Merge returns the numbers of two lists in ascending order, each once. The lists ascend without
// repetition; the result may be one of them.
func Merge(a, b []int64) []int64 {
	if slices.Equal(a, b) {
		return a
	}
	out := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		out = append(out, min(x, y))
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// RowSums sums rows of N float32 elements by groups: row To[g] of the output, or row g, is the sum
// of the items Starts[g] to Starts[g+1]-1 in their order. Item i is Order[i], or i; item k is row
// At[k] of the source, or row k, times Factor[k], or times one. Lists that are nil have the second
// meaning.
type RowSums struct {
	N          int
	To, Starts []int64
	Order      []int32
	At         []int64
	Factor     []float32
}

// SumRows sums rows of src, which is float32, into dst. Rows of dst that no group names stay.
func SumRows(dst, src op.Tensor, r RowSums, threads int) {
	work := 0
	if n := len(r.Starts) - 1; n > 0 {
		work = (int(r.Starts[n]) + n) * r.N
	}
	sumRows(dst.Data, src.Data, r, Parts(threads, work))
}

// CountRows fills rows of n float32 elements: every element of row g of dst becomes
// starts[g+1] - starts[g].
func CountRows(dst op.Tensor, starts []int64, n, threads int) {
	groups := len(starts) - 1
	countRows(dst.Data, starts, n, Parts(threads, groups*n))
}

// nearestRows reads indices as numbers from 0 to n-1: those out of range become the nearest. It
// reports whether no number is smaller than the one before, and whether each is larger.
func nearestRows(dst []int64, t op.Tensor, n int) (sorted, different bool) {
	LoadInt(dst, t, 0, 1)
	sorted, different = true, true
	last := int64(-1)
	for i, v := range dst {
		v = max(0, min(v, int64(n-1)))
		dst[i] = v
		sorted = sorted && v >= last
		different = different && v > last
		last = v
	}
	return sorted, different
}

// GatherRows copies rows of n elements: row i of dst is row at[i] of src, or zeros where at[i] is
// -1.
func GatherRows(dst, src op.Tensor, at []int64, n, threads int) {
	gatherRows(dst.Data, src.Data, at, n*dst.DType.Size(), Parts(threads, len(at)*n))
}
