package tensor

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// DiagParams are the parameters of Diag.
type DiagParams struct {
	K     int         `op:"k" doc:"which diagonal; positive above the main one"`
	Axis1 int         `op:"axis1" doc:"axis of the rows"`
	Axis2 op.Opt[int] `op:"axis2" default:"1" doc:"axis of the columns"`
}

// Diag takes a diagonal, or makes a matrix with a given one.
var (
	Diag     = op.Declare[DiagParams]("diag")
	diagGrad = op.Declare[DiagParams]("_backward_diag")
)

func init() {
	Diag.Define(op.Spec[DiagParams]{
		Traits: op.Traits{
			Doc: "Diag takes the k-th diagonal of matrices along two axes and puts it on a new " +
				"last axis. Of a vector it makes a square matrix with that diagonal and zeros " +
				"elsewhere. A k more than one beyond the last diagonal is an error; one beyond, " +
				"it is empty.",
			Moves: true,
		},
		Infer: inferDiag,
		Grad: func(g *op.Grad, p DiagParams) []op.Entry {
			return []op.Entry{diagGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(p DiagParams, c *op.Call) error {
			in, out := c.In[0], c.Out[0]
			if len(in.Shape) == 1 {
				loop.Clear(out)
				v, err := DiagParams{K: p.K, Axis2: op.Some(1)}.diagonal(out)
				loop.Copy(in.Shape, v, loop.Dense(in))
				return err
			}
			v, err := p.diagonal(in)
			loop.Copy(out.Shape, loop.Dense(out), v)
			return err
		},
	})
	diagGrad.Define(op.Spec[DiagParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{1}, Moves: true},
		Inputs: prim.Inputs[DiagParams]("grad", "like"),
		Infer: func(p DiagParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[1:], out); err != nil {
				return err
			}
			return inferDiag(p, in[1:], in[:1])
		},
		Grad: func(g *op.Grad, p DiagParams) []op.Entry {
			return []op.Entry{Diag.Apply(p, g.Head(0)), {}}
		},
		Ref: func(p DiagParams, c *op.Call) error {
			dy, dx := c.In[0], c.Out[0]
			if len(dx.Shape) == 1 {
				v, err := DiagParams{K: p.K, Axis2: op.Some(1)}.diagonal(dy)
				loop.Copy(dx.Shape, loop.Dense(dx), v)
				return err
			}
			loop.Clear(dx)
			v, err := p.diagonal(dx)
			loop.Copy(dy.Shape, v, loop.Dense(dy))
			return err
		},
	})
}

// plan returns the axes of rows and columns and the extent of the diagonal, -1 if unknown.
func (p DiagParams) plan(s dtype.Shape) (rows, cols, n int, err error) {
	if rows, err = prim.Axis("axis1", p.Axis1, len(s)); err != nil {
		return
	}
	if cols, err = prim.Axis("axis2", p.Axis2.Value(), len(s)); err != nil {
		return
	}
	if rows == cols {
		return 0, 0, 0, op.Errorf("axis2", "axis %d is axis1 too", cols)
	}
	if s[rows] == -1 || s[cols] == -1 {
		return rows, cols, -1, nil
	}
	if p.K > s[cols] || -p.K > s[rows] {
		return 0, 0, 0, op.Errorf("k", "%d, want %d to %d for %d rows and %d columns", p.K,
			-s[rows], s[cols], s[rows], s[cols])
	}
	return rows, cols, max(0, min(s[rows]+min(0, p.K), s[cols]-max(0, p.K))), nil
}

func inferDiag(p DiagParams, in, out []dtype.Shape) error {
	s := in[0]
	switch {
	case s == nil:
		return nil
	case len(s) == 0:
		return op.Errorf("data", "shape (), want at least one axis")
	case len(s) == 1:
		n := s[0]
		if n != -1 {
			n += max(p.K, -p.K)
		}
		return op.Require("output", &out[0], dtype.Shape{n, n})
	}
	rows, cols, n, err := p.plan(s)
	if err != nil {
		return err
	}
	return op.Require("output", &out[0], append(without(s, rows, cols), n))
}

// diagonal views the diagonal of t, on the last axis.
func (p DiagParams) diagonal(t op.Tensor) (loop.View, error) {
	v := loop.Dense(t)
	rows, cols, _, err := p.plan(t.Shape)
	if err != nil {
		return v, err
	}
	r, c := v.Strides[rows], v.Strides[cols]
	v.Off = max(0, p.K)*c + max(0, -p.K)*r
	v.Strides = append(without(v.Strides, rows, cols), r+c)
	return v, nil
}

// without returns a list without two of its elements.
func without(list []int, a, b int) []int {
	list = slices.Delete(slices.Clone(list), max(a, b), max(a, b)+1)
	return slices.Delete(list, min(a, b), min(a, b)+1)
}
