//go:build cuda

package linalg

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Syrk, func(p SyrkParams, a *op.Args) (*op.Prepared, error) {
		args := newBatchArgs(a.In[0])
		x, side := attach.Dense(args.m, args.n).If(p.Transpose),
			a.Out[0].Shape[len(a.Out[0].Shape)-1]
		k, err := attach.NewProduct(a.Out[0].DType, args.count, x, x.T(), attach.Dense(side, side),
			p.Alpha.Value(), 0)
		if err != nil {
			return nil, err
		}
		return attach.OnQueue(0, func(q *cuda.Queue, c *op.Call) error {
			return k.Run(q, c.In[0].Data, c.In[0].Data, c.Out[0].Data)
		})
	})
}
