//go:build cgo

package index

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.Exactly(Embedding, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		k := cpu.Lookup{N: a.In[0].Shape.Size(), Rows: p.InputDim, Width: p.OutputDim,
			Threads: attach.Threads(a, device.Work{Bytes: 2 * float64(a.Out[0].Bytes)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.Run(c.Out[0].Data, c.In[1].Data, c.In[0].Data)
		}), nil
	})
	attach.TierC(embeddingGrad, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		k := cpu.Lookup{N: a.In[1].Shape.Size(), Rows: p.InputDim, Width: p.OutputDim,
			Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
}
