package linalg

import (
	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"

	"gomx/op"
	"gomx/op/prim"
)

// CholeskyParams configures Potrf and Potri: which triangle holds the factor.
type CholeskyParams struct {
	Upper bool `op:"lower,not" doc:"whether the factor is the lower triangular one; else the upper"`
}

// Potrf factors positive definite matrices, Potri inverts them from their factors.
var (
	Potrf     = op.Declare[CholeskyParams]("_linalg_potrf")
	Potri     = op.Declare[CholeskyParams]("_linalg_potri")
	potrfGrad = op.Declare[op.NoParams]("_backward_linalg_potrf")
	potriGrad = op.Declare[op.NoParams]("_backward_linalg_potri")
)

func init() {
	Potrf.Define(op.Spec[CholeskyParams]{
		Traits: op.Traits{
			Doc: "LinalgPotrf computes the Cholesky factor of each symmetric, positive definite " +
				"matrix of a batch: the lower triangular matrix L with L·Lᵀ = A, or the upper " +
				"triangular matrix U with Uᵀ·U = A. Only the triangle of A that the factor fills " +
				"is read; its gradient is symmetric.",
			Aliases:   []string{"linalg_potrf"},
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
		},
		Inputs:    inputs[CholeskyParams]("A"),
		Infer:     squares[CholeskyParams],
		InferType: realType[CholeskyParams],
		Grad: func(g *op.Grad, p CholeskyParams) []op.Entry {
			dl, l := g.Head(0), g.Out(0)
			if p.Upper {
				dl, l = transposed(dl), transposed(l)
			}
			return []op.Entry{potrfGrad.Apply(none, dl, l)} // symmetric
		},
		Ref: func(p CholeskyParams, c *op.Call) error {
			a := load(c.In[0])
			for i := range a.count {
				m := a.at(i)
				if p.Upper {
					m.transpose()
				}
				if m.rows > 0 && !(lapack.Implementation{}).Dpotrf(blas.Lower, m.rows, m.data,
					m.cols) {
					return op.Errorf("A", "matrix %d is not positive definite", i)
				}
				if m.lower(); p.Upper {
					m.transpose()
				}
			}
			a.store(c.Out[0])
			return nil
		},
	})
	Potri.Define(op.Spec[CholeskyParams]{
		Traits: op.Traits{
			Doc: "LinalgPotri computes (A·Aᵀ)⁻¹ for each lower triangular matrix A of a batch, " +
				"(Aᵀ·A)⁻¹ for an upper one: from the factor that LinalgPotrf returned to the " +
				"inverse of the original matrix.",
			Aliases:   []string{"linalg_potri"},
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
		},
		Inputs:    inputs[CholeskyParams]("A"),
		Infer:     squares[CholeskyParams],
		InferType: realType[CholeskyParams],
		Grad: func(g *op.Grad, p CholeskyParams) []op.Entry {
			if p.Upper {
				return []op.Entry{transposed(potriGrad.Apply(none, g.Head(0), transposed(g.In(0)),
					g.Out(0)))}
			}
			return []op.Entry{potriGrad.Apply(none, g.Head(0), g.In(0), g.Out(0))}
		},
		Ref: func(p CholeskyParams, c *op.Call) error {
			a := load(c.In[0])
			for i := range a.count {
				m := a.at(i)
				if p.Upper {
					m.transpose()
				}
				inv, err := invertLower(m, i)
				if err != nil {
					return err
				}
				copy(m.data, inv.mul(inv, true, false).data)
			}
			a.store(c.Out[0])
			return nil
		},
	})
	backward(potrfGrad, func(m []matrix) matrix { return cholGrad(m[0], m[1]) }, cholFormula,
		"grad", "output")
	backward(potriGrad, func(m []matrix) matrix { return cholInverseGrad(m[0], m[1], m[2]) },
		cholInverseFormula, "grad", "A", "output")
}

// backward defines a gradient operator from square matrices of one size to one such matrix; formula
// computes the same with nodes.
func backward(h op.Handle[op.NoParams], f func(m []matrix) matrix,
	formula func(in []op.Entry) op.Entry, names ...string) {
	h.Define(op.Spec[op.NoParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[op.NoParams](names...),
		Infer:     squares[op.NoParams],
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return g.Through(func(in []op.Entry) []op.Entry { return []op.Entry{formula(in)} })
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			var in []batch
			for _, t := range c.In {
				in = append(in, load(t))
			}
			out := like(c.Out[0])
			for i := range out.count {
				var m []matrix
				for _, b := range in {
					m = append(m, b.at(i))
				}
				copy(out.at(i).data, f(m).data)
			}
			out.store(c.Out[0])
			return nil
		},
	})
}

// invertLower returns the inverse of a lower triangular matrix, the i-th of its batch.
func invertLower(m matrix, i int) (matrix, error) {
	inv := m.clone().lower()
	if m.rows > 0 && !(lapack.Implementation{}).Dtrtri(blas.Lower, blas.NonUnit, m.rows, inv.data,
		m.cols) {
		return inv, op.Errorf("A", "matrix %d has a zero on its diagonal", i)
	}
	return inv, nil
}

// cholGrad computes ½·L⁻ᵀ·S·L⁻¹, where S is symmetric with the lower triangle of Lᵀ·dL (I. Murray,
// Differentiation of the Cholesky decomposition, 2016).
func cholGrad(dl, l matrix) matrix {
	s := l.clone().lower().mul(dl, true, false).mirror().scale(0.5)
	l.solve(s, false, true, false)
	l.solve(s, false, false, true)
	return s
}

// cholInverseGrad computes the lower triangle of -B·(dB + dBᵀ)·A⁻ᵀ for B = (A·Aᵀ)⁻¹.
func cholInverseGrad(db, a, b matrix) matrix {
	s := db.clone().add(db, true)
	m := b.mul(s, false, false).scale(-1)
	a.solve(m, false, true, true)
	return m.lower()
}

// cholFormula returns cholGrad of the gradient and the factor as nodes.
func cholFormula(in []op.Entry) op.Entry {
	dl, l := in[0], in[1]
	full := Gemm2.Apply(Gemm2Params{TransposeA: true}, l, dl)
	diag := MakeDiag.Apply(BandParams{}, ExtractDiag.Apply(BandParams{}, full))
	half := prim.ElemwiseSub.Apply(none, lowerOf(full),
		prim.MulScalar.Apply(prim.ScalarParams{Scalar: 0.5}, diag))
	s := prim.ElemwiseAdd.Apply(none, half, transposed(half))
	s = Trsm.Apply(TriangularParams{Transpose: true, Alpha: op.Some(0.5)}, l, s)
	return Trsm.Apply(TriangularParams{RightSide: true}, l, s)
}

// cholInverseFormula returns cholInverseGrad of the gradient, the factor and the inverse as nodes.
func cholInverseFormula(in []op.Entry) op.Entry {
	db, a, b := in[0], in[1], in[2]
	s := Gemm2.Apply(Gemm2Params{Alpha: op.Some(-1.0)}, b, prim.ElemwiseAdd.Apply(none, db,
		transposed(db)))
	return lowerOf(Trsm.Apply(TriangularParams{RightSide: true, Transpose: true}, a, s))
}

// lowerOf returns the lower triangles of matrices.
func lowerOf(a op.Entry) op.Entry {
	return MakeTrian.Apply(TriangleParams{}, ExtractTrian.Apply(TriangleParams{}, a))
}

var none = op.NoParams{}

// transposed returns the transposes of matrices.
func transposed(a op.Entry) op.Entry {
	return prim.SwapAxis.Apply(prim.SwapAxisParams{Dim1: -1, Dim2: -2}, a)
}
