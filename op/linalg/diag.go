package linalg

import (
	"math"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// BandParams configures ExtractDiag and MakeDiag.
type BandParams struct {
	Offset int `op:"offset" doc:"number of diagonals above (positive) or below (negative) the main one"`
}

// The operators on diagonals.
var (
	ExtractDiag    = op.Declare[BandParams]("_linalg_extractdiag")
	MakeDiag       = op.Declare[BandParams]("_linalg_makediag")
	SumLogDiag     = op.Declare[op.NoParams]("_linalg_sumlogdiag")
	sumLogDiagGrad = op.Declare[op.NoParams]("_backward_linalg_sumlogdiag")
)

func init() {
	ExtractDiag.Define(op.Spec[BandParams]{
		Traits: op.Traits{
			Doc:       "LinalgExtractdiag returns a diagonal of each square matrix of a batch.",
			Aliases:   []string{"linalg_extractdiag"},
			Moves:     true,
			Precision: op.Wide,
		},
		Inputs: inputs[BandParams]("A"),
		Infer: func(p BandParams, in, out []dtype.Shape) error {
			return p.infer(&in[0], &out[0])
		},
		InferType: realType[BandParams],
		Grad: func(g *op.Grad, p BandParams) []op.Entry {
			return []op.Entry{MakeDiag.Apply(p, g.Head(0))}
		},
		Ref: func(p BandParams, c *op.Call) error {
			p.walk(c.In[0], func(at, k int) { moveOne(c.Out[0], k, c.In[0], at) })
			return nil
		},
	})
	MakeDiag.Define(op.Spec[BandParams]{
		Traits: op.Traits{
			Doc: "LinalgMakediag puts each vector on a diagonal of a square matrix. Other " +
				"elements are zero.",
			Aliases:   []string{"linalg_makediag"},
			Moves:     true,
			Precision: op.Wide,
		},
		Inputs: inputs[BandParams]("A"),
		Infer: func(p BandParams, in, out []dtype.Shape) error {
			return p.infer(&out[0], &in[0])
		},
		InferType: realType[BandParams],
		Grad: func(g *op.Grad, p BandParams) []op.Entry {
			return []op.Entry{ExtractDiag.Apply(p, g.Head(0))}
		},
		Ref: func(p BandParams, c *op.Call) error {
			loop.Clear(c.Out[0])
			p.walk(c.Out[0], func(at, k int) { moveOne(c.Out[0], at, c.In[0], k) })
			return nil
		},
	})
	defineSumLogDiag()
}

func defineSumLogDiag() {
	SumLogDiag.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "LinalgSumlogdiag sums the logarithms of the diagonal of each square matrix of " +
				"a batch. For a single matrix the output has shape (1,).",
			Aliases:   []string{"linalg_sumlogdiag"},
			Precision: op.Wide,
		},
		Inputs: inputs[op.NoParams]("A"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferScalars(in, out)
		},
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{sumLogDiagGrad.Apply(p, g.Head(0), g.In(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a := load(c.In[0])
			sums := make([]float64, a.count)
			for i := range sums {
				for k, m := 0, a.at(i); k < a.rows; k++ {
					sums[i] += math.Log(m.at(k, k))
				}
			}
			loop.Store(c.Out[0], 0, sums)
			return nil
		},
	})
	sumLogDiagGrad.Define(op.Spec[op.NoParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[op.NoParams]("grad", "A"),
		Infer:     inferScalarsGrad,
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return g.Through(func(in []op.Entry) []op.Entry {
				diag := ExtractDiag.Apply(BandParams{}, in[1])
				f := prim.Unreduce(prim.ReduceParams{Axis: []int{-1}}, in[0], diag)
				return []op.Entry{MakeDiag.Apply(BandParams{}, prim.ElemwiseDiv.Apply(none, f,
					diag))}
			})
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			g, a, da := loop.Floats(c.In[0]), load(c.In[1]), like(c.Out[0])
			for i := range a.count {
				for k, m := 0, a.at(i); k < a.rows; k++ {
					da.at(i).set(k, k, g[i]/m.at(k, k))
				}
			}
			da.store(c.Out[0])
			return nil
		},
	})
}

// infer infers the extents of matrices and diagonals from each other.
func (p BandParams) infer(square, diag *dtype.Shape) error {
	e := []int{-1, -1}
	return match([]operand{{"A", square, []int{0, 0}}, {"A", diag, []int{1}}}, e, func() error {
		cut := max(p.Offset, -p.Offset)
		switch {
		case e[0] != -1:
			if e[0] <= cut {
				return op.Errorf("offset", "%d for matrices with %d rows, want less", p.Offset,
					e[0])
			}
			if e[1] != -1 && e[1] != e[0]-cut {
				return op.Errorf("A", "diagonal of %d elements, want %d", e[1], e[0]-cut)
			}
			e[1] = e[0] - cut
		case e[1] != -1:
			e[0] = e[1] + cut
		}
		return nil
	})
}

// walk calls f for every element of the diagonals, with its offset in the matrices and its index in
// the diagonals.
func (p BandParams) walk(square op.Tensor, f func(at, k int)) {
	n, k := square.Shape[len(square.Shape)-1], 0
	for base := 0; base < square.Shape.Size(); base += n * n {
		for i := range n - max(p.Offset, -p.Offset) {
			f(base+(i+max(-p.Offset, 0))*n+i+max(p.Offset, 0), k)
			k++
		}
	}
}

// inferScalars infers the shapes of square matrices and of numbers, one per matrix.
func inferScalars(in, out []dtype.Shape) error {
	list := []operand{{"A", &in[0], []int{0, 0}}}
	for i := range out {
		list = append(list, operand{"output", &out[i], nil})
	}
	return match(list, []int{-1}, nil)
}

// inferScalarsGrad infers the shapes of the gradient of an operator with one number per matrix:
// its inputs are gradients or numbers, and last the matrices.
func inferScalarsGrad(_ op.NoParams, in, out []dtype.Shape) error {
	last := len(in) - 1
	list := []operand{{"A", &in[last], []int{0, 0}}, {"gradient", &out[0], []int{0, 0}}}
	for i := range last {
		list = append(list, operand{"grad", &in[i], nil})
	}
	return match(list, []int{-1}, nil)
}
