package index

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// ScatterNDParams are the parameters of ScatterND.
type ScatterNDParams struct {
	Shape []int `op:"shape,required" doc:"shape of the output"`
}

// GatherND and ScatterND move elements that tuples of indices name.
var (
	GatherND     = op.Declare[op.NoParams]("gather_nd")
	ScatterND    = op.Declare[ScatterNDParams]("scatter_nd")
	ScatterSetND = op.Declare[ScatterNDParams]("_scatter_set_nd")
	gatherGrad   = op.Declare[op.NoParams]("_backward_gather_nd")
)

func init() {
	GatherND.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "GatherND looks elements, or slices, of data up. The first axis of indices has " +
				"one entry per axis of data that it selects from: element (i, j) of the output " +
				"is data[indices[0, i, j], indices[1, i, j], …]. Negative indices count from the " +
				"end.",
			GoName:  "GatherND",
			Aliases: []string{"_npi_gather_nd", "_npx_gather_nd"},
			Moves:   true,
			Gathers: []int{0},
		},
		Inputs:    prim.Inputs[op.NoParams]("data", "indices"),
		Infer:     inferGather,
		InferType: dataType[op.NoParams](0),
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{gatherGrad.Apply(p, g.Head(0), g.In(1), g.In(0)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			return tuples(c.In[0].Shape, c.In[1], func(at, k, n int) {
				copyRun(c.Out[0], k, c.In[0], at, n)
			})
		},
		GradStorage: zeroLikeIndices[op.NoParams],
	})
	gatherGrad.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs: prim.Inputs[op.NoParams]("grad", "indices", "like"),
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[2:], out); err != nil {
				return err
			}
			return inferGather(p, []dtype.Shape{in[2], in[1]}, in[:1])
		},
		InferType: dataType[op.NoParams](0),
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{GatherND.Apply(p, g.Head(0), g.In(1)), {}, {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			s := make(sums, c.Out[0].Shape.Size())
			err := tuples(c.Out[0].Shape, c.In[1], func(at, k, n int) { s.add(at, c.In[0], k, n) })
			loop.Store(c.Out[0], 0, s)
			return err
		},
	})
	defineScatter()
}

// zeroLikeIndices says that the gradient by data is dense, and that by indices, which is zero, has
// their storage type.
func zeroLikeIndices[P any](_ P, in, _ []op.Storage) []op.Storage {
	return []op.Storage{op.Dense, in[1]}
}

func defineScatter() {
	ScatterND.Define(op.Spec[ScatterNDParams]{
		Traits: op.Traits{
			Doc: "ScatterND writes the elements of data into zeros of the given shape, at the " +
				"places that indices names as in GatherND. Of several elements for one place the " +
				"last one stays.",
			GoName: "ScatterND",
			Moves:  true,
		},
		Inputs: prim.Inputs[ScatterNDParams]("data", "indices"),
		Infer: func(p ScatterNDParams, in, out []dtype.Shape) error {
			return inferScatter(p, &in[0], in[1], &out[0])
		},
		InferType: dataType[ScatterNDParams](0),
		Grad: func(g *op.Grad, _ ScatterNDParams) []op.Entry {
			return []op.Entry{GatherND.Apply(op.NoParams{}, g.Head(0), g.In(1)), {}}
		},
		Ref: func(_ ScatterNDParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			return tuples(c.Out[0].Shape, c.In[1],
				func(at, k, n int) { copyRun(c.Out[0], at, c.In[0], k, n) })
		},
		GradStorage: zeroLikeIndices[ScatterNDParams],
	})
	ScatterSetND.Define(op.Spec[ScatterNDParams]{
		Traits: op.Traits{
			Doc: "ScatterSetND is lhs with the elements of rhs written at the places that " +
				"indices names as in GatherND.",
			GoName:  "ScatterSetND",
			Aliases: []string{"_npi_scatter_set_nd"},
			Inplace: [][2]int{{0, 0}},
			NoGrad:  "it serves assignment to indexed arrays, which is not recorded",
			Moves:   true,
		},
		Inputs: prim.Inputs[ScatterNDParams]("lhs", "rhs", "indices"),
		Infer: func(p ScatterNDParams, in, out []dtype.Shape) error {
			if err := op.SameShape(p, in[:1], out); err != nil {
				return err
			}
			return inferScatter(p, &in[1], in[2], &out[0])
		},
		InferType: func(p ScatterNDParams, in, out []dtype.Type) error {
			return op.SameType(p, in[:2], out)
		},
		Ref: func(_ ScatterNDParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			return tuples(c.Out[0].Shape, c.In[2],
				func(at, k, n int) { copyRun(c.Out[0], at, c.In[1], k, n) })
		},
	})
}

func inferGather(_ op.NoParams, in, out []dtype.Shape) error {
	data, idx := in[0], in[1]
	if data == nil || idx == nil {
		return nil
	}
	if len(idx) == 0 || idx[0] > len(data) {
		return op.Errorf("indices", "shape %v, want a first axis of extent up to %d for data of "+
			"shape %v", idx, len(data), data)
	}
	if idx[0] == -1 {
		return nil
	}
	want := slices.Concat(idx[1:], data[idx[0]:])
	if want == nil {
		want = dtype.Shape{}
	}
	if err := op.Require("output", &out[0], want); err != nil {
		return err
	}
	copy(idx[1:], out[0])
	copy(data[idx[0]:], out[0][len(idx)-1:])
	return nil
}

func inferScatter(p ScatterNDParams, data *dtype.Shape, idx dtype.Shape, out *dtype.Shape) error {
	if err := op.Require("output", out, dtype.Shape(p.Shape)); err != nil {
		return err
	}
	list := []dtype.Shape{*data}
	err := inferGather(op.NoParams{}, []dtype.Shape{*out, idx}, list)
	*data = list[0]
	return err
}

// wholes returns indices, of floating-point numbers the largest whole numbers that are not larger:
// -0.5 names the last element.
func wholes(indices op.Tensor) []int64 {
	if loop.Exact(indices.DType) {
		return loop.Ints(indices)
	}
	x := loop.Floats(indices)
	list := make([]int64, len(x))
	for i, v := range x {
		list[i] = int64(math.Floor(v))
	}
	return list
}

// tuples calls f for every tuple of indices: the offset in an array of shape s that it names, the
// offset among the elements it stands for, and their number.
func tuples(s dtype.Shape, indices op.Tensor, f func(at, k, n int)) error {
	m := indices.Shape[0]
	count, n := indices.Shape[1:].Size(), s[m:].Size()
	list, st := wholes(indices), s.Strides()
	for k := range count {
		at := 0
		for a := range m {
			i := list[a*count+k]
			if i < 0 {
				i += int64(s[a])
			}
			if i < 0 || i >= int64(s[a]) {
				return op.Errorf("indices", "%d for axis %d, want 0 to %d", list[a*count+k], a,
					s[a]-1)
			}
			at += int(i) * st[a]
		}
		f(at, k*n, n)
	}
	return nil
}
