//go:build cuda

package attach

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
)

// Matrix is an operand of a product: extents, and the distances of neighbours along rows and
// columns and of the matrices of a batch.
type Matrix struct {
	Rows, Cols, RowStride, ColStride, Batch int
}

// Dense describes matrices row by row, one after the other.
func Dense(rows, cols int) Matrix { return Matrix{rows, cols, cols, 1, rows * cols} }

// T is the transposed matrix.
func (m Matrix) T() Matrix { return Matrix{m.Cols, m.Rows, m.ColStride, m.RowStride, m.Batch} }

// If returns the transposed matrix where yes is true.
func (m Matrix) If(yes bool) Matrix {
	if yes {
		return m.T()
	}
	return m
}

// Product multiplies matrices, batch by batch: C = alpha·A·B + beta·C.
type Product struct {
	f    *cuda.Function
	args productArgs
	gemm *cuda.Gemm     // by the library; nil: by our own kernel
	bias *cuda.BiasGemm // with a vector; nil: WithBias has not been called, or is in vain
}

// productArgs is the parameter of product.cu.
type productArgs struct {
	a, b, c                unsafe.Pointer
	batch, m, n, depth     int
	ba, bb, bc             int
	ra, ca, rb, cb, rc, cc int
	alpha, beta            float64
}

// NewProduct prepares products of batch matrices.
func NewProduct(t dtype.Type, batch int, a, b, c Matrix, alpha, beta float64) (*Product, error) {
	if !cuda.Serves("product", t) {
		return nil, op.ErrUnsupported
	}
	p := &Product{f: cuda.Func("product", "product", t), args: productArgs{
		batch: batch, m: c.Rows, n: c.Cols, depth: a.Cols, ba: a.Batch, bb: b.Batch, bc: c.Batch,
		ra: a.RowStride, ca: a.ColStride, rb: b.RowStride, cb: b.ColStride, rc: c.RowStride,
		cc: c.ColStride, alpha: alpha, beta: beta}}
	p.gemm = cuda.NewGemm(t, cuda.Dims{Batch: batch, M: c.Rows, N: c.Cols, K: a.Cols}, [3][3]int{
		{a.RowStride, a.ColStride, a.Batch}, {b.RowStride, b.ColStride, b.Batch},
		{c.RowStride, c.ColStride, c.Batch}}, alpha, beta)
	return p, nil
}

// WithBias prepares RunBias for a vector that is cuda.AddsBias or cuda.SumsBias.
func (p *Product) WithBias(does int) { p.bias = p.gemm.WithBias(does) }

// RunBias puts the product with the vector on a queue; done is false where the library does not do
// that.
func (p *Product) RunBias(q *cuda.Queue, a, b, c, bias unsafe.Pointer) (done bool, err error) {
	if p.bias == nil || p.args.m*p.args.n == 0 {
		return false, nil
	}
	return p.bias.Run(q, a, b, c, bias)
}

// Run puts the product on a queue.
func (p *Product) Run(q *cuda.Queue, a, b, c unsafe.Pointer) error {
	if p.args.batch*p.args.m*p.args.n == 0 {
		return nil
	}
	if p.gemm != nil {
		if done, err := p.gemm.Run(q, a, b, c); done || err != nil {
			return err
		}
	}
	args := p.args
	args.a, args.b, args.c = a, b, c
	tiles := (args.m + 15) / 16 * ((args.n + 15) / 16) * args.batch
	return cuda.LaunchWith(q, p.f, cuda.Grid{X: min(tiles, 1<<20), Y: 1, Threads: 256}, &args)
}
