package loop

import (
	"gomx/dtype"
	"gomx/op"
)

// View is memory read or written with a stride per axis of a shape given elsewhere.
type View struct {
	op.Tensor
	Off     int   // element where the view begins
	Strides []int // in elements; may be zero or negative
}

// Dense views all of t.
func Dense(t op.Tensor) View { return View{Tensor: t, Strides: t.Shape.Strides()} }

// Broadcast returns the strides with which an array of shape from is read as one of shape to:
// axes are aligned at the end, missing axes and extents of one repeat.
func Broadcast(from, to dtype.Shape) []int {
	st, out := from.Strides(), make([]int, len(to))
	lead := len(to) - len(from)
	for i := range from {
		if lead+i >= 0 && from[i] != 1 {
			out[lead+i] = st[i]
		}
	}
	return out
}

// Walk visits every run along the last axis of shape, in order: f gets the length of the run and
// per list of strides the offset of its first element and the distance between elements.
// Axes that lie next to each other in all lists are joined into longer runs first.
func Walk(shape dtype.Shape, f func(n int, off, step []int), strides ...[]int) {
	shape, strides = collapse(shape, strides)
	last := len(shape) - 1
	n := shape[last]
	off, step := make([]int, len(strides)), make([]int, len(strides))
	for k, st := range strides {
		step[k] = st[last]
	}
	idx := make([]int, last)
	for _, d := range shape {
		if d == 0 {
			return
		}
	}
	for {
		f(n, off, step)
		a := last - 1
		for ; a >= 0; a-- {
			idx[a]++
			for k, st := range strides {
				off[k] += st[a]
			}
			if idx[a] < shape[a] {
				break
			}
			for k, st := range strides {
				off[k] -= st[a] * shape[a]
			}
			idx[a] = 0
		}
		if a < 0 {
			return
		}
	}
}

// collapse drops axes of extent one and joins neighbouring axes that every stride list passes
// without a gap. At least one axis remains.
func collapse(shape dtype.Shape, strides [][]int) (dtype.Shape, [][]int) {
	var s dtype.Shape
	out := make([][]int, len(strides))
	for a, d := range shape {
		if d == 1 {
			continue
		}
		joins := len(s) > 0
		for k, st := range strides {
			joins = joins && out[k][len(s)-1] == st[a]*d
		}
		if joins {
			s[len(s)-1] *= d
			for k, st := range strides {
				out[k][len(s)-1] = st[a]
			}
			continue
		}
		s = append(s, d)
		for k, st := range strides {
			out[k] = append(out[k], st[a])
		}
	}
	if len(s) == 0 {
		s = dtype.Shape{1}
		for k := range out {
			out[k] = []int{0}
		}
	}
	return s, out
}

// Copy moves elements from src to dst, whose element types must have one size; shape is the
// extent of both views.
func Copy(shape dtype.Shape, dst, src View) {
	switch dst.DType.Size() {
	case 1:
		copyRuns[uint8](shape, dst, src)
	case 2:
		copyRuns[uint16](shape, dst, src)
	case 4:
		copyRuns[uint32](shape, dst, src)
	case 8:
		copyRuns[uint64](shape, dst, src)
	}
}

func copyRuns[T uint8 | uint16 | uint32 | uint64](shape dtype.Shape, dst, src View) {
	d, s := op.Bits[T](dst.Tensor), op.Bits[T](src.Tensor)
	Walk(shape, func(n int, off, step []int) {
		i, j := dst.Off+off[0], src.Off+off[1]
		if step[0] == 1 && step[1] == 1 {
			copy(d[i:i+n], s[j:j+n])
			return
		}
		for range n {
			d[i] = s[j]
			i, j = i+step[0], j+step[1]
		}
	}, dst.Strides, src.Strides)
}

// Move copies all elements of src to dst in order; the shapes need not agree. Moving onto itself is
// free.
func Move(dst, src op.Tensor) {
	if dst.Data == src.Data {
		return
	}
	n := dtype.Shape{dst.Shape.Size()}
	Copy(n, View{Tensor: dst, Strides: []int{1}}, View{Tensor: src, Strides: []int{1}})
}

// Clear sets all elements of t to zero.
func Clear(t op.Tensor) {
	d := t
	d.DType, d.Shape = dtype.Uint8, dtype.Shape{t.Shape.Size() * t.DType.Size()}
	clear(op.Slice[uint8](d))
}
