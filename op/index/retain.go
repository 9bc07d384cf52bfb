package index

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// Retain keeps rows of an array.
var Retain = op.Declare[op.NoParams]("_sparse_retain")

func init() {
	Retain.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "Retain keeps the rows of data that indices number; the other rows become zero. " +
				"Of a row_sparse array the output stores the rows that indices number, zeros " +
				"where data does not store them; their numbers ascend, each once.",
			GoName: "Retain",
		},
		Inputs:    prim.Inputs[op.NoParams]("data", "indices"),
		Infer:     inferRetain,
		InferType: dataType[op.NoParams](0),
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{Retain.Apply(op.NoParams{}, g.Head(0), g.In(1)), {}}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			rows, err := read(c.In[1], c.In[0].Shape[0], raise)
			loop.Clear(c.Out[0])
			n := c.In[0].Shape[1:].Size()
			for _, r := range rows {
				copyRun(c.Out[0], int(r)*n, c.In[0], int(r)*n, n)
			}
			return err
		},
		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], in[0] != op.CSR && in[1] == op.Dense
		},
		Sparse: func(_ op.NoParams, c *op.Call) error {
			in, out := c.In[0].Sparse, c.Out[0].Sparse
			keys := ascending(c.In[1], in.Shape[0])
			if keys == nil {
				rows, err := read(c.In[1], in.Shape[0], raise)
				if err != nil {
					return err
				}
				keys = loop.GroupBy(rows).Keys
			}
			out.Room(len(keys))
			copy(out.Indices, keys)
			loop.Retain(out, in, c.Threads)
			return nil
		},
		GradStorage: func(_ op.NoParams, _, heads []op.Storage) []op.Storage {
			return []op.Storage{heads[0], op.Dense}
		},
	})
}

func inferRetain(p op.NoParams, in, out []dtype.Shape) error {
	if in[1] != nil && len(in[1]) != 1 {
		return op.Errorf("indices", "shape %v, want one axis", in[1])
	}
	if in[0] != nil && len(in[0]) == 0 {
		return op.Errorf("data", "a scalar, want at least one axis")
	}
	return op.SameShape(p, in[:1], out)
}

// ascending returns the memory of row numbers of type int64 below n that ascend without repetition,
// nil for others.
func ascending(indices op.Tensor, n int) []int64 {
	if indices.DType != dtype.Int64 {
		return nil
	}
	list := op.Slice[int64](indices)
	last := int64(-1)
	for _, v := range list {
		if v <= last {
			return nil
		}
		last = v
	}
	if last >= int64(n) {
		return nil
	}
	return list
}
