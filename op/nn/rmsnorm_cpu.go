//go:build cgo

package nn

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	prepare := func(p RMSNormParams, a *op.Args, data dtype.Shape) (cpu.RMSNorm, error) {
		n := data[len(data)-1]
		if !attach.Float32(a) || data.Size() == 0 {
			return cpu.RMSNorm{}, op.ErrUnsupported
		}
		return cpu.RMSNorm{Rows: data.Size() / n, N: n, Eps: float32(p.Eps.Value()),
			Threads: attach.Threads(a, device.Work{Bytes: 2 * attach.Bytes(a)})}, nil
	}
	attach.TierC(RMSNorm, func(p RMSNormParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.Run(c.Out[0].Data, c.Out[1].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
	attach.TierC(RMSNormGrad, func(p RMSNormParams, a *op.Args) (*op.Prepared, error) {
		k, err := prepare(p, a, a.In[1].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunGrad(&cpu.RMSNormGrads{DX: c.Out[0].Data, DGamma: c.Out[1].Data,
				DY: c.In[0].Data, X: c.In[1].Data, Gamma: c.In[2].Data, RMS: c.In[3].Data})
		}), nil
	})
}
