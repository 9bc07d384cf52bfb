package linalg

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// matrix is a dense row-major matrix of float64.
type matrix struct {
	rows, cols int
	data       []float64
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float64, rows*cols)} }

func (m matrix) clone() matrix { return matrix{m.rows, m.cols, slices.Clone(m.data)} }

func (m matrix) at(i, j int) float64 { return m.data[i*m.cols+j] }

// transpose transposes a square matrix in place.
func (m matrix) transpose() {
	for i := range m.rows {
		for j := range i {
			a, b := m.at(i, j), m.at(j, i)
			m.set(i, j, b)
			m.set(j, i, a)
		}
	}
}

func (m matrix) set(i, j int, v float64) { m.data[i*m.cols+j] = v }

// general returns m as a matrix of package blas64.
func (m matrix) general() blas64.General {
	return blas64.General{Rows: m.rows, Cols: m.cols, Stride: max(m.cols, 1), Data: m.data}
}

// triangular returns one triangle of m as a matrix of package blas64.
func (m matrix) triangular(upper bool) blas64.Triangular {
	t := blas64.Triangular{N: m.rows, Stride: max(m.cols, 1), Data: m.data, Uplo: blas.Lower,
		Diag: blas.NonUnit}
	if upper {
		t.Uplo = blas.Upper
	}
	return t
}

func trans(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}

// mul returns op(m)·op(b); the flags say which operand is transposed.
func (m matrix) mul(b matrix, transM, transB bool) matrix {
	rows, cols := m.rows, b.cols
	if transM {
		rows = m.cols
	}
	if transB {
		cols = b.rows
	}
	out := newMatrix(rows, cols)
	if rows > 0 && cols > 0 && len(m.data) > 0 {
		blas64.Gemm(trans(transM), trans(transB), 1, m.general(), b.general(), 0, out.general())
	}
	return out
}

// solve replaces b by op(t)⁻¹·b or b·op(t)⁻¹, where t is a triangle of m.
func (m matrix) solve(b matrix, upper, transpose, right bool) {
	if len(b.data) == 0 {
		return
	}
	side := blas.Left
	if right {
		side = blas.Right
	}
	blas64.Trsm(side, trans(transpose), 1, m.triangular(upper), b.general())
}

// lower sets the elements above the diagonal to zero.
func (m matrix) lower() matrix {
	for i := range m.rows {
		clear(m.data[i*m.cols:][min(i+1, m.cols):m.cols])
	}
	return m
}

// mirror copies the elements below the diagonal of a square matrix to their mirror positions above
// it.
func (m matrix) mirror() matrix {
	for i := range m.rows {
		for j := range i {
			m.set(j, i, m.at(i, j))
		}
	}
	return m
}

// scale multiplies all elements by a number.
func (m matrix) scale(f float64) matrix {
	for i := range m.data {
		m.data[i] *= f
	}
	return m
}

// add adds b, or its transpose.
func (m matrix) add(b matrix, transB bool) matrix {
	for i := range m.rows {
		for j := range m.cols {
			if transB {
				m.data[i*m.cols+j] += b.at(j, i)
			} else {
				m.data[i*m.cols+j] += b.at(i, j)
			}
		}
	}
	return m
}

// batch is an operand as a list of matrices in float64.
type batch struct {
	count, rows, cols int
	data              []float64
}

// load converts an operand whose last two axes are matrices.
func load(t op.Tensor) batch {
	n := len(t.Shape)
	return batch{t.Shape[:n-2].Size(), t.Shape[n-2], t.Shape[n-1], loop.Floats(t)}
}

// like returns zeros for the matrices of an operand.
func like(t op.Tensor) batch {
	n := len(t.Shape)
	return batch{t.Shape[:n-2].Size(), t.Shape[n-2], t.Shape[n-1], make([]float64, t.Shape.Size())}
}

// at returns matrix i, which shares the batch's memory.
func (b batch) at(i int) matrix {
	n := b.rows * b.cols
	return matrix{b.rows, b.cols, b.data[i*n : (i+1)*n : (i+1)*n]}
}

// store converts the matrices to the element type of an operand and writes them to it.
func (b batch) store(t op.Tensor) {
	if t.Data != nil {
		loop.Store(t, 0, b.data)
	}
}

// permute returns the elements of an array of shape s with axis moved to the second-last position;
// back reverses the move.
func permute(data []float64, s dtype.Shape, axis int, back bool) []float64 {
	n := len(s)
	if axis == n-2 || len(data) == 0 {
		return data
	}
	moved := rotate(s, axis)
	dense := moved.Strides()
	strided := rotate(dtype.Shape(s.Strides()), axis)
	out := make([]float64, len(data))
	loop.Walk(moved, func(n int, off, step []int) {
		for i := range n {
			a, b := off[0]+i*step[0], off[1]+i*step[1]
			if back {
				out[b] = data[a]
			} else {
				out[a] = data[b]
			}
		}
	}, dense, strided)
	return out
}

// rotate moves an axis to the second-last position.
func rotate(s dtype.Shape, axis int) dtype.Shape {
	n := len(s)
	r := slices.Delete(s.Clone(), axis, axis+1)
	return slices.Insert(r, n-2, s[axis])
}

// unrotate reverses rotate.
func unrotate(s dtype.Shape, axis int) dtype.Shape {
	n := len(s)
	r := slices.Delete(s.Clone(), n-2, n-1)
	return slices.Insert(r, axis, s[n-2])
}
