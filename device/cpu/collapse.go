package cpu

import "gomx/dtype"

// strideTo returns the strides with which an array of shape from is read as one of shape to: axes
// are aligned at the end, missing axes and extents of one repeat.
func strideTo(from, to dtype.Shape) []int {
	st, out := from.Strides(), make([]int, len(to))
	lead := len(to) - len(from)
	for i, n := range from {
		if n != 1 {
			out[lead+i] = st[i]
		}
	}
	return out
}

// collapse drops axes of extent one and joins neighbouring axes that every list of strides passes
// without a gap. At least one axis remains.
func collapse(shape dtype.Shape, strides ...[]int) (dims []int, out [][]int) {
	out = make([][]int, len(strides))
	for a, n := range shape {
		if n == 1 {
			continue
		}
		last := len(dims) - 1
		joins := last >= 0
		for k := 0; joins && k < len(strides); k++ {
			joins = out[k][last] == strides[k][a]*n
		}
		if joins {
			dims[last] *= n
			for k := range strides {
				out[k][last] = strides[k][a]
			}
			continue
		}
		dims = append(dims, n)
		for k := range strides {
			out[k] = append(out[k], strides[k][a])
		}
	}
	if len(dims) == 0 {
		dims = []int{1}
		for k := range out {
			out[k] = []int{1}
		}
	}
	return dims, out
}
