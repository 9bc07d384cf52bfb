package prim

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// The functions that touch the stored values of a sparse operand only.
var (
	ScatterElemwiseDiv = op.Declare[op.NoParams]("_scatter_elemwise_div")
	ScatterPlusScalar  = op.Declare[ScalarParams]("_scatter_plus_scalar")
	ScatterMinusScalar = op.Declare[ScalarParams]("_scatter_minus_scalar")
)

func init() {
	divide := loop.Func2{F: func(a, b float64) float64 { return a / b }, I: divInt}
	ScatterElemwiseDiv.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "ScatterElemwiseDiv computes a / b. Where a is row_sparse it divides the " +
				"stored rows alone, and the output stores the same rows.",
			GoName:    "ScatterElemwiseDiv",
			Inplace:   [][2]int{{0, 0}, {1, 0}},
			Pointwise: true,
		},
		Inputs: Inputs[op.NoParams]("lhs", "rhs"),
		Infer:  op.SameShape[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			a, b, dy := g.In(0), g.In(1), g.Head(0)
			return []op.Entry{div(dy, b), neg(div(mul(dy, a), Square.Apply(none, b)))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			loop.Zip(divide, c.Out[0], c.In[0], c.In[1])
			return nil
		},
		Storage: func(_ op.NoParams, in []op.Storage) ([]op.Storage, bool) {
			return in[:1], in[0] == op.RowSparse || op.AllDense(in)
		},
		Sparse: func(_ op.NoParams, c *op.Call) error {
			by := loop.DenseOf(c.In[1], c.Threads)
			return loop.ZipAt(divide, &op.Call{In: []op.Tensor{c.In[0], by}, Out: c.Out,
				Threads: c.Threads})
		},
	})
	for _, r := range []struct {
		op   op.Handle[ScalarParams]
		f    loop.Func2
		what string
	}{
		{ScatterPlusScalar, loop.Func2{F: func(x, s float64) float64 { return x + s },
			I: func(x, s int64) int64 { return x + s }}, "ScatterPlusScalar computes x + s"},
		{ScatterMinusScalar, loop.Func2{F: func(x, s float64) float64 { return x - s },
			I: func(x, s int64) int64 { return x - s }}, "ScatterMinusScalar computes x - s"},
	} {
		row := scalar{op: r.op, f: r.f}
		r.op.Define(op.Spec[ScalarParams]{
			Traits: op.Traits{
				Doc: r.what + " for every element x and the number s, of a sparse array for the " +
					"stored values alone.",
				Inplace:   [][2]int{{0, 0}},
				Pointwise: true,
			},
			Infer:     op.SameShape[ScalarParams],
			InferType: scalarType,
			Grad: func(g *op.Grad, _ ScalarParams) []op.Entry {
				return []op.Entry{g.Head(0)}
			},
			Ref: func(p ScalarParams, c *op.Call) error {
				loop.Map(row.function(p, c.In[0].DType), c.Out[0], c.In[0])
				return nil
			},
			Storage: op.StoreLike[ScalarParams],
			Sparse: func(p ScalarParams, c *op.Call) error {
				return loop.MapStored(row.function(p, c.In[0].DType), c)
			},
			GradStorage: op.GradLikeHead[ScalarParams],
		})
	}
}

// GetNNZParams are the parameters of GetNNZ.
type GetNNZParams struct {
	Axis op.Opt[int] `op:"axis" doc:"None: count the stored values of the whole matrix; 0: of each column; 1: of each row"`
}

// GetNNZ counts stored values.
var GetNNZ = op.Declare[GetNNZParams]("_contrib_getnnz")

func init() {
	GetNNZ.Define(op.Spec[GetNNZParams]{
		Traits: op.Traits{
			Doc: "GetNNZ counts the values that a csr matrix stores, zeros among them, as int64. " +
				"A dense matrix stores all.",
			GoName: "GetNNZ",
			NoGrad: "a count is constant",
		},
		Infer: func(p GetNNZParams, in, out []dtype.Shape) error {
			axis, ok := p.Axis.Get()
			if !ok {
				return op.Require("output", &out[0], dtype.Shape{1})
			}
			if in[0] == nil {
				return nil
			}
			a, err := Axis("axis", axis, len(in[0]))
			if err != nil || len(in[0]) != 2 {
				return op.Errorf("axis", "%d for data of shape %v, want 0 or 1 of a matrix", axis,
					in[0])
			}
			return op.Require("output", &out[0], dtype.Shape{in[0][1-a]})
		},
		InferType: func(_ GetNNZParams, _, out []dtype.Type) error {
			return requireType("output", &out[0], dtype.Int64)
		},
		Ref: func(p GetNNZParams, c *op.Call) error {
			n := c.In[0].Shape.Size() / max(c.Out[0].Shape.Size(), 1)
			loop.Fill(c.Out[0], float64(n))
			return nil
		},
		Storage: func(_ GetNNZParams, in []op.Storage) ([]op.Storage, bool) {
			return []op.Storage{op.Dense}, in[0] != op.RowSparse
		},
		Sparse: countStored,
	})
}

// countStored is the kernel of GetNNZ for csr matrices.
func countStored(p GetNNZParams, c *op.Call) error {
	s, counts := c.In[0].Sparse, op.Slice[int64](c.Out[0])
	clear(counts)
	axis, ok := p.Axis.Get()
	switch {
	case !ok:
		counts[0] = int64(s.N)
	case axis == 1 || axis == -1:
		for r := range counts {
			counts[r] = s.Starts[r+1] - s.Starts[r]
		}
	default:
		for _, column := range s.Indices {
			counts[column]++
		}
	}
	return nil
}
