package index

import (
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// TakeParams are the parameters of Take.
type TakeParams struct {
	Axis int    `op:"axis" doc:"axis that indices select from"`
	Mode string `op:"mode" default:"clip" enum:"clip|raise|wrap" doc:"what becomes of an index out of range: the nearest one, an error, or the rest of a division"`
}

// Take looks slices up along an axis.
var Take = op.Declare[TakeParams]("take")

var takeGrad = op.Declare[TakeParams]("_backward_take")

func init() {
	Take.Define(op.Spec[TakeParams]{
		Traits: op.Traits{
			Doc: "Take selects slices of a along an axis: in the output the axis is replaced by " +
				"the axes of indices. Indices out of range are errors with mode raise, which " +
				"arrive at those who wait for the output.",
			Aliases: []string{"_npi_take"},
			Moves:   true,
			Gathers: []int{0},
		},
		Inputs:    prim.Inputs[TakeParams]("a", "indices"),
		Infer:     inferTake,
		InferType: dataType[TakeParams](0),
		Grad: func(g *op.Grad, p TakeParams) []op.Entry {
			return []op.Entry{takeGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: func(p TakeParams, c *op.Call) error {
			out, a := c.Out[0], c.In[0]
			return takeRuns(p, a.Shape, c.In[1], func(from, to, n int) {
				copyRun(out, to, a, from, n)
			})
		},
		// MXNet makes csr data dense where indices out of range are errors.
		Storage: func(p TakeParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], op.AllDense(in) || in[0] == op.CSR && in[1] == op.Dense &&
				(p.Axis == 0 || p.Axis == -2) && p.Mode != "raise"
		},
		Sparse: func(p TakeParams, c *op.Call) error {
			rows, err := read(c.In[1], c.In[0].Shape[0], bounds[p.Mode])
			if err == nil {
				prim.RowsStored(c.Out[0].Sparse, c.In[0].Sparse, rows)
			}
			return err
		},
	})
	takeGrad.Define(op.Spec[TakeParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[TakeParams]("grad", "indices", "like"),
		Infer: func(p TakeParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[2:], out); err != nil {
				return err
			}
			forward := []dtype.Shape{in[2], in[1]}
			err := inferTake(p, forward, in[:1])
			in[2], in[1] = forward[0], forward[1]
			return err
		},
		InferType: dataType[TakeParams](0),
		Grad: func(g *op.Grad, p TakeParams) []op.Entry {
			return []op.Entry{Take.Apply(p, g.Head(0), g.In(1)), {}, {}}
		},
		Ref: func(p TakeParams, c *op.Call) error {
			s := make(sums, c.Out[0].Shape.Size())
			err := takeRuns(p, c.Out[0].Shape, c.In[1], func(from, to, n int) {
				s.add(from, c.In[0], to, n)
			})
			loop.Store(c.Out[0], 0, s)
			return err
		},
	})
}

func inferTake(p TakeParams, in, out []dtype.Shape) error {
	a, idx := in[0], in[1]
	if a == nil || idx == nil {
		return nil
	}
	axis, err := prim.Axis("axis", p.Axis, len(a))
	if err != nil {
		return err
	}
	want := slices.Concat(a[:axis], idx, a[axis+1:])
	if len(want) == 0 {
		want = dtype.Shape{}
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	copy(a[:axis], out[0])
	copy(idx, out[0][axis:])
	copy(a[axis+1:], out[0][axis+len(idx):])
	return nil
}

// takeRuns calls f for every run of elements that one index selects: n elements at offset from
// of a, which has shape s, and at offset to of the output.
func takeRuns(p TakeParams, s dtype.Shape, indices op.Tensor, f func(from, to, n int)) error {
	axis, err := prim.Axis("axis", p.Axis, len(s))
	if err != nil {
		return err
	}
	list, err := read(indices, s[axis], bounds[p.Mode])
	if err != nil {
		return err
	}
	outer, n := s[:axis].Size(), s[axis+1:].Size()
	for o := range outer {
		for k, i := range list {
			f((o*s[axis]+int(i))*n, (o*len(list)+k)*n, n)
		}
	}
	return nil
}
