//go:build cuda

package attach

import (
	"unsafe"

	"gomx/device/cpu"
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// IsLast reports whether an operand has its channels last. Arrays in which nothing comes behind the
// channels are plain.
func IsLast(d op.Desc) bool { return d.Layout == cpu.LayoutLast }

// Last returns d with its channels, axis 1, last: in its plain form where both orders are one.
func Last(d op.Desc) op.Desc {
	d = op.Plain(d.DType, d.Shape)
	if len(d.Shape) > 2 && d.Shape[1] > 1 && spotsOf(d.Shape) > 1 {
		d.Layout = cpu.LayoutLast
	}
	return d
}

// spotsOf returns the number of elements of a channel of one image.
func spotsOf(s dtype.Shape) int { return dtype.Shape(s[2:]).Size() }

// LastStrides returns the strides of an array whose channels are last, by its axes.
func LastStrides(s dtype.Shape) []int {
	st, step := make([]int, len(s)), s[1]
	st[1] = 1
	for i := len(s) - 1; i >= 0; i-- {
		if i != 1 {
			st[i] = step
			step *= s[i]
		}
	}
	return st
}

// Turn brings the channels of an array last, and back.
type Turn struct{ last, plain moveStep }

// NewTurn prepares both ways for arrays like d; it returns nil where both orders are one.
func NewTurn(d op.Desc) (*Turn, error) {
	if !IsLast(Last(d)) {
		return nil, nil
	}
	s, n := d.Shape, d.Shape.Size()
	outer, channels, inner := s[0], s[1], spotsOf(s)
	image := channels * inner
	t := &Turn{}
	for step, w := range map[*moveStep]dtype.Shape{&t.last: {outer, inner, channels},
		&t.plain: {outer, channels, inner}} {
		m := &Moves{marks: make([]byte, 2), in: 1}
		view := func(i int, st ...int) loop.View {
			return loop.View{Tensor: op.Tensor{Desc: op.Plain(d.DType, dtype.Shape{n}),
				Data: unsafe.Pointer(&m.marks[i])}, Strides: st}
		}
		m.Copy(w, view(1, image, w[2], 1), view(0, image, 1, w[1]))
		if m.err != nil || len(m.list) == 0 {
			return nil, op.ErrUnsupported
		}
		*step = m.list[0]
	}
	return t, nil
}

// ToLast puts the copy of a plain array with its channels last on q.
func (t *Turn) ToLast(q *cuda.Queue, out, in unsafe.Pointer) error {
	return t.last.run(q, func(i int) unsafe.Pointer { return [2]unsafe.Pointer{in, out}[i] })
}

// ToPlain puts the copy of an array with its channels last in plain order on q.
func (t *Turn) ToPlain(q *cuda.Queue, out, in unsafe.Pointer) error {
	return t.plain.run(q, func(i int) unsafe.Pointer { return [2]unsafe.Pointer{in, out}[i] })
}

// CUDAReorder prepares a copy of input 0 in the layout of output 0.
func CUDAReorder(a *op.Args) (*op.Prepared, error) {
	if IsLast(a.In[0]) == IsLast(a.Out[0]) {
		return CUDAMove[op.NoParams]()(op.NoParams{}, a)
	}
	t, err := NewTurn(a.In[0])
	if err != nil {
		return nil, err
	}
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if IsLast(a.Out[0]) {
			return t.ToLast(q, c.Out[0].Data, c.In[0].Data)
		}
		return t.ToPlain(q, c.Out[0].Data, c.In[0].Data)
	})
}

// turnedFrom returns the extents of the matrices in memory, one for each image of d, whose
// transposition brings the channels last, or back.
func turnedFrom(d op.Desc) (rows, cols int) {
	if IsLast(d) {
		return spotsOf(d.Shape), d.Shape[1]
	}
	return d.Shape[1], spotsOf(d.Shape)
}

// turnedCast prepares a conversion of types that changes the layout as well.
func turnedCast(a *op.Args) (*op.Prepared, error) {
	s, from, to := a.Out[0].Shape, a.In[0].DType, a.Out[0].DType
	rows, cols := turnedFrom(a.In[0])
	f := cuda.Func("fill", "cast_turned", dtype.Unknown)
	tiles := s[0] * ((rows + tile - 1) / tile) * ((cols + tile - 1) / tile)
	return OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, cuda.Grid{X: min(tiles, 1<<20), Y: 1, Threads: 256},
			cuda.P(c.Out[0].Data), cuda.P(c.In[0].Data), cuda.I(cuda.Code(to)),
			cuda.I(cuda.Code(from)), cuda.I(s[0]), cuda.I(rows), cuda.I(cols))
	})
}

const tile = 32 // rows and columns that a block of cast_turned treats at a time
