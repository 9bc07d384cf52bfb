package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// IndexArrayParams are the parameters of IndexArray.
type IndexArrayParams struct {
	Axes []int `op:"axes" doc:"axes to report; none: all"`
}

// IndexCopy writes rows at given indices, IndexArray lists the indices of all elements.
var (
	IndexCopy     = op.Declare[op.NoParams]("_contrib_index_copy")
	IndexArray    = op.Declare[IndexArrayParams]("_contrib_index_array")
	indexCopyGrad = op.Declare[op.NoParams]("_backward_index_copy")
)

func init() {
	IndexCopy.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "IndexCopy is old_tensor with the rows of new_tensor in place of those that " +
				"index_vector names. Of several rows for one place the last one stays.",
			GoName:  "IndexCopy",
			Inplace: [][2]int{{0, 0}},
			Moves:   true,
		},
		Inputs:    prim.Inputs[op.NoParams]("old_tensor", "index_vector", "new_tensor"),
		Infer:     inferIndexCopy,
		InferType: indexCopyType,
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			n := indexCopyGrad.Node(p, g.Head(0), g.In(1), g.In(2))
			return []op.Entry{n.Entry(0), {}, n.Entry(1)}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Move(c.Out[0], c.In[0])
			return copyRows(c.Out[0].Shape, c.In[1],
				func(at, k, n int) { copyRun(c.Out[0], at, c.In[2], k, n) })
		},
	})
	indexCopyGrad.Define(op.Spec[op.NoParams]{
		Traits:  op.Traits{Hidden: true, Ignores: []int{2}},
		Inputs:  prim.Inputs[op.NoParams]("grad", "index_vector", "new_tensor"),
		Outputs: func(op.NoParams) []string { return []string{"old_grad", "new_grad"} },
		Infer: func(p op.NoParams, in, out []dtype.Shape) error {
			forward := []dtype.Shape{in[0], in[1], in[2]}
			if err := inferIndexCopy(p, forward, out[:1]); err != nil {
				return err
			}
			copy(in, forward)
			return op.SameShape(p, in[2:], out[1:])
		},
		InferType: func(p op.NoParams, in, out []dtype.Type) error {
			return op.SameType(p, in[:1], out)
		},
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{IndexCopy.Apply(p, g.Head(0), g.In(1), g.Head(1)), {}, {}}
		},
		Ref: indexCopyBackward,
	})
	IndexArray.Define(op.Spec[IndexArrayParams]{
		Traits: op.Traits{
			Doc: "IndexArray lists the index of every element, on a new last axis with one entry " +
				"per axis of data, or per given axis. It has type int64.",
			GoName:  "IndexArray",
			Ignores: []int{0},
			Moves:   true,
		},
		Infer: inferIndexArray,
		InferType: func(_ IndexArrayParams, _, out []dtype.Type) error {
			return setType("output", &out[0], dtype.Int64)
		},
		Grad: prim.ZeroGrad[IndexArrayParams],
		Ref:  indexArray,
	})
}

func inferIndexCopy(p op.NoParams, in, out []dtype.Shape) error {
	first := in[:1]
	if err := op.SameShape(p, first, out); err != nil || in[0] == nil {
		return err
	}
	if len(in[0]) == 0 {
		return op.Errorf("old_tensor", "shape (), want at least one axis")
	}
	n := -1
	if len(in[1]) == 1 {
		n = in[1][0]
	}
	if err := op.Require("new_tensor", &in[2], append(dtype.Shape{n}, in[0][1:]...)); err != nil {
		return err
	}
	return op.Require("index_vector", &in[1], dtype.Shape{in[2][0]})
}

func indexCopyType(p op.NoParams, in, out []dtype.Type) error {
	data := []dtype.Type{in[0], in[2]}
	if err := op.SameType(p, data, out); err != nil {
		return err
	}
	in[0], in[2] = data[0], data[1]
	return nil
}

// copyRows calls f for every index: the offset of the row it names, the offset of its own row, and
// the extent of a row.
func copyRows(s dtype.Shape, index op.Tensor, f func(at, k, n int)) error {
	n := s[1:].Size()
	list, err := read(index, s[0], raise)
	for k, i := range list {
		f(int(i)*n, k*n, n)
	}
	return err
}

func indexCopyBackward(_ op.NoParams, c *op.Call) error {
	dy, old, fresh := c.In[0], c.Out[0], c.Out[1]
	if old.Data != nil {
		loop.Move(old, dy)
	}
	return copyRows(dy.Shape, c.In[1], func(at, k, n int) {
		if fresh.Data != nil {
			copyRun(fresh, k, dy, at, n)
		}
		if old.Data != nil {
			loop.Store(old, at, make([]float64, n))
		}
	})
}

func inferIndexArray(p IndexArrayParams, in, out []dtype.Shape) error {
	if in[0] == nil && out[0] != nil && len(out[0]) > 0 {
		if err := op.Require("data", &in[0], out[0][:len(out[0])-1]); err != nil {
			return err
		}
	}
	if in[0] == nil {
		return nil
	}
	for _, a := range p.Axes {
		if _, err := prim.Axis("axes", a, len(in[0])); err != nil {
			return err
		}
	}
	n := len(p.Axes)
	if n == 0 {
		n = len(in[0])
	}
	if err := op.Require("output", &out[0], append(in[0].Clone(), n)); err != nil {
		return err
	}
	copy(in[0], out[0])
	return nil
}

func indexArray(p IndexArrayParams, c *op.Call) error {
	s := c.In[0].Shape
	axes := p.Axes
	if len(axes) == 0 {
		for a := range s {
			axes = append(axes, a)
		}
	}
	st := s.Strides()
	for i := range s.Size() {
		for k, axis := range axes {
			a, err := prim.Axis("axes", axis, len(s))
			if err != nil {
				return err
			}
			loop.StoreInt(c.Out[0], i*len(axes)+k, []int64{int64(i / st[a] % s[a])})
		}
	}
	return nil
}
