//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierC(LSTMSteps, lstmStepsC) }

func lstmStepsC(p LSTMStepsParams, a *op.Args) (*op.Prepared, error) {
	for _, list := range [][]op.Desc{a.In, a.Out} {
		for _, d := range list {
			if d.Layout != nil || d.Shape.Size() == 0 {
				return nil, op.ErrUnsupported
			}
		}
	}
	if p.StateSize > cpu.MostByteLSTM {
		return nil, op.ErrUnsupported
	}
	s := a.In[0].Shape
	k := &cpu.ByteLSTM{Steps: s[0], Batch: s[1], Hidden: p.StateSize, Directions: p.directions(),
		Back: p.Direction == "reverse"}
	k.Threads = attach.Threads(a, device.Work{Flops: 2 * float64(s.Size()*p.StateSize),
		Bytes: attach.Bytes(a)})
	if k.Directions > 1 {
		k.Threads = min(k.Threads, k.Directions)
	}
	return &op.Prepared{Threads: k.Threads, Scratch: k.Scratch(), Run: func(c *op.Call) error {
		o := cpu.ByteLSTMOperands{X: c.In[0].Data, Codes: c.In[1].Data, Scale: c.In[2].Data,
			H0: c.In[3].Data, C0: c.In[4].Data, Y: c.Out[0].Data}
		if len(c.Out) > 1 {
			o.H, o.C = c.Out[1].Data, c.Out[2].Data
		}
		k.Run(o, c.Scratch)
		return nil
	}}, nil
}
