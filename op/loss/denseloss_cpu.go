//go:build cgo

package loss

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierC(DenseGrad, denseGradC) }

func denseGradC(p DenseGradParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	q := p.loss()
	v, in := newClasses(q, a.In[denseOutput].Shape), a.In[denseWeight].Shape[1]
	threads := attach.Threads(a, device.Work{Flops: 4 * float64(v.samples) * float64(v.count) *
		float64(in), Bytes: attach.Bytes(a)})
	k := cpu.DenseLoss{Loss: softmaxLoss(q, v, a.In[denseLabel].Shape.Size(), threads), In: in}
	return &op.Prepared{Threads: threads, Scratch: k.Scratch(), Run: func(c *op.Call) error {
		g := cpu.DenseGrads{Data: c.Out[0].Data, Weight: c.Out[1].Data}
		if !p.NoBias {
			g.Bias = c.Out[2].Data
		}
		return k.Run(g, c.In[denseOutput].Data, c.In[denseLabel].Data, c.In[denseData].Data,
			c.In[denseWeight].Data, c.Scratch)
	}}, nil
}
