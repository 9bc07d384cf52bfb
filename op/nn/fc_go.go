package nn

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(FullyConnected, func(p FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		rows, inputs, _ := fcExtents(a.In[1].Shape, a.Out[0].Shape)
		if inputs == 0 {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(1, 0, func(c *op.Call) {
			var bias []float32
			if !p.NoBias {
				bias = attach.Floats(c.In[2])
			}
			pure.Dense(attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1]),
				bias, rows)
		}), nil
	})
	attach.TierGo(FullyConnectedGrad, fcGradGo)
}

func fcGradGo(_ FullyConnectedParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	rows, inputs, outputs := fcExtents(a.In[2].Shape, a.In[0].Shape)
	dx := pure.Gemm{M: rows, N: inputs, K: outputs, Alpha: 1}
	dw := pure.Gemm{M: outputs, N: inputs, K: rows, TransA: true, Alpha: 1}
	return attach.Kernel(1, 0, func(c *op.Call) {
		dy := attach.Floats(c.In[0])
		if out := attach.Floats(c.Out[0]); out != nil {
			dx.Run(out, dy, attach.Floats(c.In[2]))
		}
		if out := attach.Floats(c.Out[1]); out != nil {
			dw.Run(out, dy, attach.Floats(c.In[1]))
		}
		if len(c.Out) > 2 && c.Out[2].Data != nil {
			pure.SumRows(attach.Floats(c.Out[2]), dy)
		}
	}), nil
}
