//go:build !cgo

package loop

import (
	"unsafe"

	"gomx/device/cpu/pure"
	"gomx/op"
)

// The kernels below give the same bits as those in C.

func sumRows(dst, src unsafe.Pointer, r RowSums, threads int) {
	pure.Parallel(threads, len(r.Starts)-1, func(_, begin, end int) {
		for g := begin; g < end; g++ {
			to := g
			if r.To != nil {
				to = int(r.To[g])
			}
			sum := floats32(dst, to, r.N)
			clear(sum)
			for i := r.Starts[g]; i < r.Starts[g+1]; i++ {
				item := i
				if r.Order != nil {
					item = int64(r.Order[i])
				}
				from, factor := item, float32(1)
				if r.At != nil {
					from = r.At[item]
				}
				if r.Factor != nil {
					factor = r.Factor[item]
				}
				for k, v := range floats32(src, int(from), r.N) {
					sum[k] += float32(factor * v)
				}
			}
		}
	})
}

func readRows(dst []int64, t op.Tensor, n int) (sorted, different bool) {
	return nearestRows(dst, t, n)
}

func countRows(dst unsafe.Pointer, starts []int64, n, threads int) {
	pure.Parallel(threads, len(starts)-1, func(_, begin, end int) {
		for g := begin; g < end; g++ {
			count, row := float32(starts[g+1]-starts[g]), floats32(dst, g, n)
			for k := range row {
				row[k] = count
			}
		}
	})
}

func gatherRows(dst, src unsafe.Pointer, at []int64, bytes, threads int) {
	if bytes == 0 {
		return
	}
	pure.Parallel(threads, len(at), func(_, begin, end int) {
		for i := begin; i < end; i++ {
			to := unsafe.Slice((*byte)(unsafe.Add(dst, i*bytes)), bytes)
			if at[i] < 0 {
				clear(to)
				continue
			}
			copy(to, unsafe.Slice((*byte)(unsafe.Add(src, int(at[i])*bytes)), bytes))
		}
	})
}

func addRows(dst, a unsafe.Pointer, ia []int32, b unsafe.Pointer, ib []int32, n, threads int) {
	pure.Parallel(threads, len(ia), func(_, begin, end int) {
		for i := begin; i < end; i++ {
			to := floats32(dst, i, n)
			switch {
			case ib[i] < 0:
				copy(to, floats32(a, int(ia[i]), n))
			case ia[i] < 0:
				copy(to, floats32(b, int(ib[i]), n))
			default:
				y := floats32(b, int(ib[i]), n)
				for k, v := range floats32(a, int(ia[i]), n) {
					to[k] = v + y[k]
				}
			}
		}
	})
}

func sumColumns(op.Tensor, *op.Sparse, op.Tensor, int, int) bool { return false }

// floats32 views row i of n float32 elements.
func floats32(data unsafe.Pointer, i, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(data, 4*i*n)), n)
}
