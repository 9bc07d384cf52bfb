//go:build cuda

package linalg

import (
	"unsafe"

	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Gemm, func(p GemmParams, a *op.Args) (*op.Prepared, error) {
		return p.product().productCUDA(p.Beta.Value(), a)
	})
	attach.CUDA(Gemm2, func(p Gemm2Params, a *op.Args) (*op.Prepared, error) {
		return p.productCUDA(0, a)
	})
}

// productCUDA prepares products in batches: the axes between rows and columns count interleaved
// matrices, the axes before the rows count batches of them.
func (p Gemm2Params) productCUDA(beta float64, a *op.Args) (*op.Prepared, error) {
	t, out := a.Out[0].DType, a.Out[0].Shape
	n := len(out)
	axis, err := p.axis(n)
	if err != nil {
		return nil, err
	}
	batch, outer := dtype.Shape(out[:n-2]).Size(), 1
	if axis != n-2 {
		batch, outer = dtype.Shape(out[axis+1:n-1]).Size(), dtype.Shape(out[:axis]).Size()
	}
	matrix := func(d op.Desc, turn bool) attach.Matrix {
		m := attach.Dense(d.Shape[axis], d.Shape[n-1])
		if axis != n-2 {
			m.RowStride, m.Batch = batch*m.Cols, m.Cols
		}
		return m.If(turn)
	}
	k, err := attach.NewProduct(t, batch, matrix(a.In[0], p.TransposeA),
		matrix(a.In[1], p.TransposeB), matrix(a.Out[0], false), p.Alpha.Value(), beta)
	if err != nil {
		return nil, err
	}
	bytes := a.Out[0].Bytes
	step := func(d op.Desc) int { return d.Bytes / max(outer, 1) }
	da, db, dc := step(a.In[0]), step(a.In[1]), step(a.Out[0])
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if beta != 0 && c.Out[0].Data != c.In[2].Data {
			if err := q.CopyFrom(c.Out[0].Data, q.Device(), c.In[2].Data, bytes); err != nil {
				return err
			}
		}
		for i := range outer {
			if err := k.Run(q, unsafe.Add(c.In[0].Data, i*da), unsafe.Add(c.In[1].Data, i*db),
				unsafe.Add(c.Out[0].Data, i*dc)); err != nil {
				return err
			}
		}
		return nil
	})
}
