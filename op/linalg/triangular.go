package linalg

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// TriangularParams configures Trmm and Trsm.
type TriangularParams struct {
	Transpose bool            `op:"transpose" doc:"use the transpose of A"`
	RightSide bool            `op:"rightside" doc:"A is the right factor"`
	Upper     bool            `op:"lower,not" doc:"A is a lower triangular matrix"`
	Alpha     op.Opt[float64] `op:"alpha" default:"1" doc:"factor of B"`
}

// Trmm multiplies by triangular matrices, Trsm by their inverses.
var (
	Trmm = op.Declare[TriangularParams]("_linalg_trmm")
	Trsm = op.Declare[TriangularParams]("_linalg_trsm")
)

func init() {
	Trmm.Define(op.Spec[TriangularParams]{
		Traits: op.Traits{
			Doc: "LinalgTrmm computes alpha·op(A)·B, or alpha·B·op(A) with rightside, for each " +
				"matrix of a batch. A is triangular: its other triangle is not read. op(A) is A " +
				"or its transpose.",
			Aliases:   []string{"linalg_trmm"},
			Inplace:   [][2]int{{1, 0}},
			Precision: op.Wide,
		},
		Inputs:    inputs[TriangularParams]("A", "B"),
		Infer:     inferTriangular,
		InferType: realType[TriangularParams],
		Grad: func(g *op.Grad, p TriangularParams) []op.Entry {
			a, b, dy := g.In(0), g.In(1), g.Head(0)
			back := p
			back.Transpose = !p.Transpose
			return []op.Entry{p.triangle(p.factor(dy, b), p.Alpha.Value()), Trmm.Apply(back, a, dy)}
		},
		FLOPs: triangularFLOPs,
		Ref: func(p TriangularParams, c *op.Call) error {
			return p.each(c, func(a, b matrix) {
				blas64.Trmm(p.side(), trans(p.Transpose), p.Alpha.Value(), a.triangular(p.Upper),
					b.general())
			})
		},
	})
	Trsm.Define(op.Spec[TriangularParams]{
		Traits: op.Traits{
			Doc: "LinalgTrsm solves op(A)·X = alpha·B, or X·op(A) = alpha·B with rightside, for " +
				"each matrix of a batch. A is triangular: its other triangle is not read. op(A) " +
				"is A or its transpose.",
			Aliases:   []string{"linalg_trsm"},
			Inplace:   [][2]int{{1, 0}},
			Precision: op.Wide,
		},
		Inputs:    inputs[TriangularParams]("A", "B"),
		Infer:     inferTriangular,
		InferType: realType[TriangularParams],
		Grad: func(g *op.Grad, p TriangularParams) []op.Entry {
			back := p
			back.Transpose, back.Alpha = !p.Transpose, op.Some(1.0)
			s := Trsm.Apply(back, g.In(0), g.Head(0))
			db := prim.MulScalar.Apply(prim.ScalarParams{Scalar: p.Alpha.Value()}, s)
			return []op.Entry{p.triangle(p.factor(s, g.Out(0)), -1), db}
		},
		FLOPs: triangularFLOPs,
		Ref: func(p TriangularParams, c *op.Call) error {
			return p.each(c, func(a, b matrix) {
				b.scale(p.Alpha.Value())
				a.solve(b, p.Upper, p.Transpose, p.RightSide)
			})
		},
	})
}

func (p TriangularParams) side() blas.Side {
	if p.RightSide {
		return blas.Right
	}
	return blas.Left
}

// triangularFLOPs returns one operation per element of B and row of A, half as many as a product.
func triangularFLOPs(_ TriangularParams, in, out []dtype.Shape) int64 {
	return int64(out[0].Size()) * int64(in[0][len(in[0])-1])
}

func inferTriangular(p TriangularParams, in, out []dtype.Shape) error {
	size := 0
	if p.RightSide {
		size = 1
	}
	return match([]operand{{"A", &in[0], []int{size, size}}, {"B", &in[1], []int{0, 1}},
		{"output", &out[0], []int{0, 1}}}, []int{-1, -1}, nil)
}

// each calls f with every A and a copy of B, which f replaces by the output.
func (p TriangularParams) each(c *op.Call, f func(a, b matrix)) error {
	a, b := load(c.In[0]), load(c.In[1])
	for i := range a.count {
		if len(b.at(i).data) > 0 {
			f(a.at(i), b.at(i))
		}
	}
	b.store(c.Out[0])
	return nil
}

// operands holds the two factors of a product.
type operands struct {
	x, y   op.Entry
	tx, ty bool
}

// factor returns the factors of A's gradient in op(A)·b, or b·op(A), where dy is the gradient of
// the product.
func (p TriangularParams) factor(dy, b op.Entry) operands {
	switch {
	case p.RightSide && p.Transpose:
		return operands{dy, b, true, false}
	case p.RightSide:
		return operands{b, dy, true, false}
	case p.Transpose:
		return operands{b, dy, false, true}
	}
	return operands{dy, b, false, true}
}

// triangle returns a product with the elements outside A's triangle set to zero.
func (p TriangularParams) triangle(o operands, alpha float64) op.Entry {
	full := Gemm2.Apply(Gemm2Params{TransposeA: o.tx, TransposeB: o.ty, Alpha: op.Some(alpha)}, o.x,
		o.y)
	t := TriangleParams{Upper: p.Upper}
	return MakeTrian.Apply(t, ExtractTrian.Apply(t, full))
}
