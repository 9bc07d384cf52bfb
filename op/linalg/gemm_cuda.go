//go:build cuda

package linalg

import (
	"gomx/device/cuda"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Gemm, func(p GemmParams, a *op.Args) (*op.Prepared, error) {
		return p.product().productCUDA(p.Beta.Value(), a)
	})
	attach.CUDA(Gemm2, func(p Gemm2Params, a *op.Args) (*op.Prepared, error) { return p.productCUDA(0, a) })
}

// productCUDA serves matrices whose rows lie one after the other.
func (p Gemm2Params) productCUDA(beta float64, a *op.Args) (*op.Prepared, error) {
	out := a.Out[0].Shape
	n := len(out)
	axis, err := p.axis(n)
	if err != nil {
		return nil, err
	}
	if axis != n-2 {
		return nil, op.ErrUnsupported
	}
	dense := func(d op.Desc, t bool) attach.Matrix { return attach.Dense(d.Shape[n-2], d.Shape[n-1]).If(t) }
	k, err := attach.NewProduct(a.Out[0].DType, dtype.Shape(out[:n-2]).Size(), dense(a.In[0], p.TransposeA), dense(a.In[1], p.TransposeB),
		dense(a.Out[0], false), p.Alpha.Value(), beta)
	if err != nil {
		return nil, err
	}
	bytes := a.Out[0].Bytes
	return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
		if beta != 0 && c.Out[0].Data != c.In[2].Data {
			if err := q.CopyFrom(c.Out[0].Data, q.Device(), c.In[2].Data, bytes); err != nil {
				return err
			}
		}
		return k.Run(q, c.In[0].Data, c.In[1].Data, c.Out[0].Data)
	})
}
