package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// Where chooses between two arrays element by element.
var Where = op.Declare[op.NoParams]("where")

func init() {
	Where.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "Where is x where condition is not zero, and y elsewhere. The condition has the " +
				"shape of x and y, or is a vector that chooses along their first axis.",
			Aliases: []string{"_sparse_where"},
			Inplace: [][2]int{{1, 0}, {2, 0}},
			Moves:   true,
		},
		Inputs: Inputs[op.NoParams]("condition", "x", "y"),
		Infer:  inferWhere,
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[1:], out)
		},
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			dy := g.Head(0)
			zero := ZerosLike.Apply(none, dy)
			return []op.Entry{{}, Where.Apply(none, g.In(0), dy, zero), Where.Apply(none, g.In(0),
				zero, dy)}
		},
		Ref: where,
		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
			return []op.Storage{op.Dense}, op.AllDense(in[1:]) && in[0] != op.RowSparse
		},
		Sparse: whereStored,
		GradStorage: func(_ op.NoParams, in, _ []op.Storage) []op.Storage {
			return []op.Storage{in[0], op.Dense, op.Dense} // that of the condition is zero
		},
	})
}

func inferWhere(p op.NoParams, in, out []dtype.Shape) error {
	if err := op.SameShape(p, in[1:], out); err != nil {
		return err
	}
	cond, x := in[0], in[1]
	if cond == nil || x == nil {
		return nil
	}
	if len(cond) == 1 && len(x) > 1 {
		d, ok := meet(cond[0], x[0])
		if !ok {
			return op.Errorf("condition", "shape %v, want (%d,) or %v", cond, x[0], x)
		}
		cond[0] = d
		x[0], in[2][0], out[0][0] = d, d, d
		return nil
	}
	if err := op.Require("condition", &in[0], x); err != nil {
		return err
	}
	for _, s := range []*dtype.Shape{&in[1], &in[2], &out[0]} {
		if err := op.Require("x", s, in[0]); err != nil {
			return err
		}
	}
	return nil
}

// whereStored is the kernel for a csr condition.
func whereStored(_ op.NoParams, c *op.Call) error {
	s := c.In[0].Sparse
	chosen := op.NewSparse(op.CSR, c.Out[0].DType, s.Shape)
	chosen.Room(s.N)
	n := 0
	values := loop.Floats(s.Values())
	for r := range s.Shape[0] {
		for i := s.Starts[r]; i < s.Starts[r+1]; i++ {
			if values[i] != 0 {
				chosen.Indices[n] = s.Indices[i]
				n++
			}
		}
		chosen.Starts[r+1] = int64(n)
	}
	chosen.Cut(n)
	loop.Gather(chosen.Values(), chosen, c.In[1], c.Threads)
	loop.Move(c.Out[0], c.In[2])
	loop.Scatter(c.Out[0], chosen, chosen.Values(), c.Threads)
	return nil
}

func where(_ op.NoParams, c *op.Call) error {
	cond, out := c.In[0], c.Out[0]
	n := cond.Shape.Size()
	if n == 0 {
		return nil
	}
	run := out.Shape.Size() / n // elements chosen by one condition
	shape := dtype.Shape{run}
	for i, v := range loop.Floats(cond) {
		src := c.In[2]
		if v != 0 {
			src = c.In[1]
		}
		if src.Data != out.Data {
			at := loop.View{Tensor: src, Off: i * run, Strides: []int{1}}
			loop.Copy(shape, loop.View{Tensor: out, Off: i * run, Strides: []int{1}}, at)
		}
	}
	return nil
}
