//go:build cuda

package prim

import (
	"strconv"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/loop"
)

func permuteCUDA[P any](axes func(p P, rank int) ([]int, error)) op.Prepare[P] {
	return attach.CUDAView(func(p P, in, out dtype.Shape) (dtype.Shape, []int, int, error) {
		perm, err := axes(p, len(in))
		if err != nil {
			return nil, nil, 0, err
		}
		dense, st := in.Strides(), make([]int, len(perm))
		for i, axis := range perm {
			st[i] = dense[axis]
		}
		return out, st, 0, nil
	})
}

func repeatCUDA[P any]() op.Prepare[P] {
	return attach.CUDAView(func(_ P, in, out dtype.Shape) (dtype.Shape, []int, int, error) {
		return out, loop.Broadcast(in, out), 0, nil
	})
}

// reversal reads an array backwards along some axes.
func reversal(p ReverseParams, in, _ dtype.Shape) (dtype.Shape, []int, int, error) {
	st, off := in.Strides(), 0
	for _, axis := range p.Axis {
		a, err := Axis("axis", axis, len(in))
		if err != nil {
			return nil, nil, 0, err
		}
		off += (in[a] - 1) * st[a]
		st[a] = -st[a]
	}
	return in, st, off, nil
}

// window returns the extents of windows in an array.
func windowed(s dtype.Shape, list []window) dtype.Shape {
	shape := s.Clone()
	for i, w := range list {
		shape[i] = w.n
	}
	return shape
}

func cutCUDA[P any](windows func(P, dtype.Shape) ([]window, error)) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		list, err := windows(p, c.In[0].Shape)
		if err != nil {
			return err
		}
		m.Copy(c.Out[0].Shape, loop.Dense(c.Out[0]), windowView(c.In[0], list))
		return nil
	})
}

// pasteCUDA is the gradient of cutting: zeros but for the window.
func pasteCUDA[P any](windows func(P, dtype.Shape) ([]window, error)) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		list, err := windows(p, c.Out[0].Shape)
		if err != nil {
			return err
		}
		m.Clear(c.Out[0])
		m.Copy(c.In[0].Shape, windowView(c.Out[0], list), loop.Dense(c.In[0]))
		return nil
	})
}

// parts visits the arrays that are joined and their places in the whole.
func (p ConcatParams) parts(whole op.Tensor, list []op.Tensor,
	f func(t op.Tensor, place loop.View)) error {
	axis, err := Axis("dim", p.Dim.Value(), len(whole.Shape))
	if err != nil {
		return err
	}
	begin := 0
	for _, t := range list {
		if t.Data != nil {
			f(t, part(whole, axis, begin))
		}
		begin += t.Shape[axis]
	}
	return nil
}

// layers visits the arrays that are stacked and their places in the whole.
func (p StackParams) layers(whole op.Tensor, list []op.Tensor,
	f func(t op.Tensor, place loop.View)) error {
	for i, t := range list {
		v, err := layer(whole, p.Axis, i)
		if err != nil {
			return err
		}
		if t.Data != nil {
			f(t, v)
		}
	}
	return nil
}

func splitCUDA[P any](at func(P) cut) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		return at(p).walk(c.In[0], c.Out, func(t op.Tensor, whole loop.View) {
			m.Copy(t.Shape, loop.Dense(t), whole)
		})
	})
}

func joinCUDA[P any](at func(P) cut) op.Prepare[P] {
	return attach.CUDAMoves(func(p P, c *op.Call, m *attach.Moves) error {
		return at(p).walk(c.Out[0], c.In, func(t op.Tensor, whole loop.View) {
			m.Copy(t.Shape, whole, loop.Dense(t))
		})
	})
}

// whereCUDA chooses between two arrays.
func whereCUDA(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
	n := a.Out[0].Shape.Size()
	if a.In[0].Shape.Size() == 0 {
		return attach.OnQueue(0, func(*cuda.Queue, *op.Call) error { return nil })
	}
	f := cuda.Func("copy", "where"+strconv.Itoa(a.Out[0].DType.Size()), dtype.Unknown)
	kind, run := cuda.Code(a.In[0].DType), n/a.In[0].Shape.Size()
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		return q.Launch(f, q.Each(n), cuda.P(c.Out[0].Data), cuda.P(c.In[0].Data),
			cuda.P(c.In[1].Data), cuda.P(c.In[2].Data), cuda.I(kind), cuda.I(n), cuda.I(run))
	})
}
