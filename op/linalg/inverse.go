package linalg

import (
	"math"

	lapack "gonum.org/v1/gonum/lapack/gonum"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// The operators that use the LU factorization.
var (
	Inverse     = op.Declare[op.NoParams]("_linalg_inverse")
	Det         = op.Declare[op.NoParams]("_linalg_det")
	SlogDet     = op.Declare[op.NoParams]("_linalg_slogdet")
	detGrad     = op.Declare[op.NoParams]("_backward_linalg_det")
	slogDetGrad = op.Declare[op.NoParams]("_backward_linalg_slogdet")
)

func init() {
	Inverse.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc:       "LinalgInverse inverts each matrix of a batch. A singular matrix is an error.",
			Aliases:   []string{"linalg_inverse", "_npi_inv"},
			Inplace:   [][2]int{{0, 0}},
			Precision: op.Wide,
		},
		Inputs:    inputs[op.NoParams]("A"),
		Infer:     squares[op.NoParams],
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			b := g.Out(0)
			left := Gemm2.Apply(Gemm2Params{TransposeA: true}, b, g.Head(0))
			return []op.Entry{Gemm2.Apply(Gemm2Params{TransposeB: true, Alpha: op.Some(-1.0)}, left,
				b)}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a := load(c.In[0])
			for i := range a.count {
				inv, ok := factorLU(a.at(i)).inverse()
				if !ok {
					return op.Errorf("A", "matrix %d is singular", i)
				}
				copy(a.at(i).data, inv.data)
			}
			a.store(c.Out[0])
			return nil
		},
	})
	defineDet()
	defineSlogDet()
}

func defineDet() {
	Det.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "LinalgDet computes the determinant of each matrix of a batch. For a single " +
				"matrix the output has shape (1,). The gradient of a singular matrix is zero, as " +
				"in MXNet.",
			Aliases:   []string{"linalg_det", "_npi_det"},
			Precision: op.Wide,
		},
		Inputs:  inputs[op.NoParams]("A"),
		Outputs: outputs[op.NoParams]("output0"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferScalars(in, out)
		},
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			return []op.Entry{detGrad.Apply(p, g.Head(0), g.Out(0), g.In(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a := load(c.In[0])
			dets := make([]float64, a.count)
			for i := range dets {
				dets[i] = factorLU(a.at(i)).det()
			}
			loop.Store(c.Out[0], 0, dets)
			return nil
		},
	})
	detGrad.Define(op.Spec[op.NoParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[op.NoParams]("grad", "det", "A"),
		Infer:     inferScalarsGrad,
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return g.Through(func(in []op.Entry) []op.Entry {
				return []op.Entry{scaledInverse(prim.ElemwiseMul.Apply(none, in[0], in[1]), in[2])}
			})
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			g := loop.Floats(c.In[0])
			for i, d := range loop.Floats(c.In[1]) {
				g[i] *= d
			}
			scaledInverses(g, c.In[2], c.Out[0])
			return nil
		},
	})
}

func defineSlogDet() {
	SlogDet.Define(op.Spec[op.NoParams]{
		Traits: op.Traits{
			Doc: "LinalgSlogdet computes sign and logarithm of the absolute value of the " +
				"determinant of each matrix of a batch. For a single matrix the outputs have " +
				"shape (1,). No gradient flows through the sign, none at all to a singular matrix.",
			Aliases:   []string{"linalg_slogdet", "_npi_slogdet"},
			Multi:     true,
			Precision: op.Wide,
		},
		Inputs:  inputs[op.NoParams]("A"),
		Outputs: outputs[op.NoParams]("output0", "output1"),
		Infer: func(_ op.NoParams, in, out []dtype.Shape) error {
			return inferScalars(in, out)
		},
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, p op.NoParams) []op.Entry {
			if !g.OutGrad[1].Valid() {
				return []op.Entry{{}}
			}
			return []op.Entry{slogDetGrad.Apply(p, g.Head(1), g.In(0))}
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			a := load(c.In[0])
			signs, logs := make([]float64, a.count), make([]float64, a.count)
			for i := range signs {
				signs[i], logs[i] = factorLU(a.at(i)).logDet()
			}
			for i, v := range [][]float64{signs, logs} {
				if c.Out[i].Data != nil {
					loop.Store(c.Out[i], 0, v)
				}
			}
			return nil
		},
	})
	slogDetGrad.Define(op.Spec[op.NoParams]{
		Traits:    op.Traits{Hidden: true},
		Inputs:    inputs[op.NoParams]("grad", "A"),
		Infer:     inferScalarsGrad,
		InferType: realType[op.NoParams],
		Grad: func(g *op.Grad, _ op.NoParams) []op.Entry {
			return g.Through(func(in []op.Entry) []op.Entry {
				return []op.Entry{scaledInverse(in[0], in[1])}
			})
		},
		Ref: func(_ op.NoParams, c *op.Call) error {
			scaledInverses(loop.Floats(c.In[0]), c.In[1], c.Out[0])
			return nil
		},
	})
}

// scaledInverse returns scaledInverses as nodes.
func scaledInverse(f, a op.Entry) op.Entry {
	inv := Inverse.Apply(none, a)
	return prim.ElemwiseMul.Apply(none, prim.Unreduce(prim.ReduceParams{Axis: []int{-2, -1}}, f, a),
		transposed(inv))
}

// scaledInverses writes f[i]·A⁻ᵀ for matrix i, zeros if it is singular.
func scaledInverses(f []float64, t, out op.Tensor) {
	a, da := load(t), like(out)
	for i := range a.count {
		if inv, ok := factorLU(a.at(i)).inverse(); ok {
			da.at(i).add(inv.scale(f[i]), true)
		}
	}
	da.store(out)
}

// lu is the LU factorization of a square matrix.
type lu struct {
	m      matrix
	pivots []int
	ok     bool // the matrix is not singular
}

func factorLU(a matrix) lu {
	f := lu{a.clone(), make([]int, a.rows), true}
	if a.rows > 0 {
		f.ok = lapack.Implementation{}.Dgetrf(a.rows, a.cols, f.m.data, a.cols, f.pivots)
	}
	return f
}

// inverse returns the inverse, and false if the matrix is singular.
func (f lu) inverse() (matrix, bool) {
	if !f.ok || f.m.rows == 0 {
		return f.m, f.ok
	}
	inv, n := f.m.clone(), f.m.rows
	ok := lapack.Implementation{}.Dgetri(n, inv.data, n, f.pivots, make([]float64, n), n)
	return inv, ok
}

// det returns the determinant.
func (f lu) det() float64 {
	det := 1.0
	for i := range f.m.rows {
		det *= f.m.at(i, i)
		if f.pivots[i] != i {
			det = -det
		}
	}
	return det
}

// logDet returns the sign and the logarithm of the absolute value of the determinant.
func (f lu) logDet() (sign, log float64) {
	sign = 1
	for i := range f.m.rows {
		v := f.m.at(i, i)
		if (v < 0) != (f.pivots[i] != i) {
			sign = -sign
		}
		if v == 0 {
			sign = 0
		}
		log += math.Log(math.Abs(v))
	}
	return sign, log
}
