package prim

import (
	"strconv"

	"gomx/op"
	"gomx/op/loop"
)

// AddNParams are the parameters of AddN.
type AddNParams struct {
	NumArgs int `op:"num_args,auto" max:"16384" doc:"number of inputs"`
}

// AddN sums any number of arrays.
var AddN = op.Declare[AddNParams]("add_n")

// GradAdd adds two gradients of one array.
var GradAdd = op.Declare[op.NoParams]("_grad_add")

func init() {
	AddN.Define(op.Spec[AddNParams]{
		Traits: op.Traits{
			Doc:       "AddN computes the sum of arrays of one shape. Known as ElementWiseSum too.",
			Aliases:   []string{"ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"},
			Variadic:  true,
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
		},
		Inputs: func(p AddNParams) []op.Input { return args(p.NumArgs) },
		Infer:  op.SameShape[AddNParams],
		Grad: func(g *op.Grad, p AddNParams) []op.Entry {
			in := make([]op.Entry, p.NumArgs)
			for i := range in {
				in[i] = g.Head(0)
			}
			return in
		},
		Neutral: func(p AddNParams) bool { return p.NumArgs == 1 },
		Ref:     addN,
		Storage: func(_ AddNParams, in []op.Storage) ([]op.Storage, bool) { return sumStorage(in) },
		Sparse:  func(_ AddNParams, c *op.Call) error { return addStored(c) },

		GradStorage: op.GradLikeHead[AddNParams],
	})
	GradAdd.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "GradAdd computes a + b. It is elemwise_add under the name that sums of " +
				"gradients have in saved graphs.",
			Inplace:   [][2]int{{0, 0}, {1, 0}},
			Pointwise: true,
			Commutes:  true,
			Scalar:    [2]*op.Op{PlusScalar.Op, PlusScalar.Op},
		},
		Inputs: Inputs[op.NoParams]("lhs", "rhs"),
		Infer:  op.SameShape[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return []op.Entry{g.Head(0), g.Head(0)}
		},
		Ref: func(_ op.NoParams, c *op.Call) error { return addN(AddNParams{}, c) },
		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
			if in[0] == op.CSR && in[1] == op.CSR {
				return in[:1], true
			}
			return sumStorage(in)
		},
		Sparse: func(_ op.NoParams, c *op.Call) error {
			if c.Out[0].Storage == op.CSR {
				add := func(a, b float64) float64 { return a + b }
				return loop.ZipStored(loop.Func2{F: add,
					I: func(a, b int64) int64 { return a + b }}, false, c)
			}
			return addStored(c)
		},

		GradStorage: op.GradLikeHead[op.NoParams],
	})
}

// sumStorage makes the sum of row_sparse arrays row_sparse, and every other sum dense.
func sumStorage(in []op.Storage) ([]op.Storage, bool) {
	for _, s := range in {
		if s != op.RowSparse {
			return []op.Storage{op.Dense}, true
		}
	}
	return in[:1], true
}

// addStored is the sparse kernel of sums.
func addStored(c *op.Call) error {
	if c.Out[0].Storage == op.RowSparse {
		return loop.AddStored(c)
	}
	in := make([]op.Tensor, len(c.In))
	for i, x := range c.In {
		in[i] = loop.DenseOf(x, c.Threads)
	}
	return addN(AddNParams{}, &op.Call{In: in, Out: c.Out})
}

// args names the inputs of variadic operators as MXNet does.
func args(n int) []op.Input {
	in := make([]op.Input, n)
	for i := range in {
		in[i].Name = "arg" + strconv.Itoa(i)
	}
	return in
}

func addN(_ AddNParams, c *op.Call) error {
	out := c.Out[0]
	size := out.Shape.Size()
	for at := 0; at < size; at += loop.Block {
		n := min(loop.Block, size-at)
		if loop.Exact(out.DType) {
			var sum, x [loop.Block]int64
			for _, in := range c.In {
				loop.LoadInt(x[:n], in, at, 1)
				for k, v := range x[:n] {
					sum[k] += v
				}
			}
			loop.StoreInt(out, at, sum[:n])
			continue
		}
		var sum, x [loop.Block]float64
		for _, in := range c.In {
			loop.Load(x[:n], in, at, 1)
			for k, v := range x[:n] {
				sum[k] += v
			}
		}
		loop.Store(out, at, sum[:n])
	}
	return nil
}
