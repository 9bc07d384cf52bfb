package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// PickParams are the parameters of Pick.
type PickParams struct {
	Axis     op.Opt[int] `op:"axis" default:"-1" doc:"axis to select from; None: the flattened array"`
	KeepDims bool        `op:"keepdims" doc:"keep the axis with extent one"`
	Mode     string      `op:"mode" default:"clip" enum:"clip|wrap" doc:"what becomes of an index out of range: the nearest one, or the rest of a division"`
}

// Pick selects one element of every vector along an axis; BatchTake of every row of a matrix.
var (
	Pick      = op.Declare[PickParams]("pick")
	BatchTake = op.Declare[op.NoParams]("batch_take")
	pickGrad  = op.Declare[PickParams]("_backward_pick")
)

func init() {
	Pick.Define(op.Spec[PickParams]{
		Traits: op.Traits{
			Doc: "Pick selects one element of every vector along an axis: that at the position " +
				"which index says.",
			Aliases: []string{"_npx_pick", "choose_element_0index"},
			Moves:   true,
			Gathers: []int{0},
		},
		Inputs:    prim.Inputs[PickParams]("data", "index"),
		Infer:     inferPick,
		InferType: dataType[PickParams](0),
		Grad: func(g *op.Grad, p PickParams) []op.Entry {
			return []op.Entry{pickGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: pick,

		GradStorage: zeroLikeIndices[PickParams],
	})
	pickGrad.Define(op.Spec[PickParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[PickParams]("grad", "index", "like"),
		Infer: func(p PickParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[2:], out); err != nil {
				return err
			}
			forward := []dtype.Shape{in[2], in[1]}
			err := inferPick(p, forward, in[:1])
			in[2], in[1] = forward[0], forward[1]
			return err
		},
		InferType: dataType[PickParams](0),
		Grad: func(g *op.Grad, p PickParams) []op.Entry {
			return []op.Entry{Pick.Apply(p, g.Head(0), g.In(1)), {}, {}}
		},
		Ref: func(p PickParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			return picks(p, c.Out[0].Shape, c.In[1],
				func(at, k int) { copyRun(c.Out[0], at, c.In[0], k, 1) })
		},
	})
	rows := PickParams{Axis: op.Some(-1), Mode: "clip"}
	BatchTake.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "BatchTake selects one element of every row of the matrix a: that at the " +
				"position which indices says.",
			Moves:   true,
			Gathers: []int{0},
		},
		Inputs: prim.Inputs[op.NoParams]("a", "indices"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			if err := op.Require("a", &in[0], dtype.Shape{-1, -1}); err != nil {
				return err
			}
			return inferPick(rows, in, out)
		},
		InferType: dataType[op.NoParams](0),
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{pickGrad.Apply(rows, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error { return pick(rows, c) },
	})
}

// mask tells which axes one index stands for.
func (p PickParams) mask(rank int) ([]bool, error) {
	m := make([]bool, rank)
	axis, ok := p.Axis.Get()
	if !ok {
		for i := range m {
			m[i] = true
		}
		return m, nil
	}
	a, err := prim.Axis("axis", axis, rank)
	if err != nil {
		return nil, err
	}
	m[a] = true
	return m, nil
}

func inferPick(p PickParams, in, out []dtype.Shape) error {
	data := in[0]
	if data == nil {
		return nil
	}
	mask, err := p.mask(len(data))
	if err != nil {
		return err
	}
	// index may keep the axis or not, with any keepdims; only a known rank tells
	keep, known := in[1] != nil && len(in[1]) == len(data), in[1] != nil
	for range 2 {
		if err := link(data, mask, "output", &out[0], p.KeepDims); err != nil {
			return err
		}
		if !known {
			return nil
		}
		if err := link(data, mask, "index", &in[1], keep); err != nil {
			return err
		}
	}
	return nil
}

// link merges the axes that are not masked between data and a shape reduced from it.
func link(data dtype.Shape, mask []bool, arg string, s *dtype.Shape, keep bool) error {
	if err := op.Require(arg, s, prim.ReducedShape(data, mask, keep)); err != nil {
		return err
	}
	k := 0
	for i := range data {
		if !mask[i] {
			data[i] = (*s)[k]
		}
		if !mask[i] || keep {
			k++
		}
	}
	return nil
}

// picks calls f for every index: the offset in data that it selects, and its own.
func picks(p PickParams, s dtype.Shape, index op.Tensor, f func(at, k int)) error {
	axis, ok := p.Axis.Get()
	if !ok {
		s, axis = dtype.Shape{s.Size()}, 0
	}
	a, err := prim.Axis("axis", axis, len(s))
	if err != nil {
		return err
	}
	list, err := read(index, s[a], bounds[p.Mode])
	inner := s[a+1:].Size()
	for k, i := range list {
		f((k/inner*s[a]+int(i))*inner+k%inner, k)
	}
	return err
}

func pick(p PickParams, c *op.Call) error {
	return picks(p, c.In[0].Shape, c.In[1], func(at, k int) {
		copyRun(c.Out[0], k, c.In[0], at, 1)
	})
}
