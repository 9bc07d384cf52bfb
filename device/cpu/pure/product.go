package pure

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Gemm is the product C = Alpha·op(A)·op(B) + Beta·C of dense row-major matrices, where C is M×N
// and op(A) M×K.
type Gemm struct {
	M, N, K        int
	TransA, TransB bool
	Alpha, Beta    float32
}

// Run multiplies a and b to c.
func (g Gemm) Run(c, a, b []float32) {
	if g.M == 0 || g.N == 0 {
		return
	}
	if g.K == 0 || g.Beta == 0 {
		clear(c[:g.M*g.N]) // the old values, NaN included, do not count
	}
	if g.K == 0 {
		return
	}
	blas32.Gemm(trans(g.TransA), trans(g.TransB), g.Alpha, matrix(a, g.M, g.K, g.TransA),
		matrix(b, g.K, g.N, g.TransB), g.Beta, matrix(c, g.M, g.N, false))
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// matrix describes the storage of a matrix that is rows×cols after the transposition that trans
// asks for.
func matrix(v []float32, rows, cols int, trans bool) blas32.General {
	if trans {
		rows, cols = cols, rows
	}
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: v[:rows*cols]}
}

// Dense computes y = x·wᵀ + bias with x of shape (rows, in) and w of shape (out, in); bias may be
// nil.
func Dense(y, x, w, bias []float32, rows int) {
	if rows == 0 || len(y) == 0 {
		return
	}
	out := len(y) / rows
	beta := float32(0)
	if bias != nil {
		beta = 1
		for r := range rows {
			copy(y[r*out:(r+1)*out], bias)
		}
	}
	Gemm{M: rows, N: out, K: len(w) / out, TransB: true, Alpha: 1, Beta: beta}.Run(y, x, w)
}

// SumRows writes the sum of the rows of x, each as long as d, to d.
func SumRows(d, x []float32) {
	clear(d)
	for ; len(x) > 0 && len(d) > 0; x = x[len(d):] {
		for i := range d {
			d[i] += x[i]
		}
	}
}
