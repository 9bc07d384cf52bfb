//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(WeightOnlyFullyConnected, weightOnlyC)
}

func weightOnlyC(p WeightOnlyParams, a *op.Args) (*op.Prepared, error) {
	for _, list := range [][]op.Desc{a.In, a.Out} {
		for _, d := range list {
			if d.Layout != nil || d.Shape.Size() == 0 {
				return nil, op.ErrUnsupported
			}
		}
	}
	columns := a.In[1].Shape[1] * 8 / p.Bits
	_, each := p.groups(columns)
	k := &cpu.WeightOnly{Rows: a.In[0].Shape.Size() / columns, Columns: columns,
		Outputs: p.NumHidden, Group: each, Bits: p.Bits}
	flops := 2 * float64(k.Rows) * float64(columns) * float64(p.NumHidden)
	k.Threads = attach.Threads(a, device.Work{Flops: flops, Bytes: attach.Bytes(a)})
	return &op.Prepared{Threads: k.Threads, Scratch: k.Scratch(), Run: func(c *op.Call) error {
		o := cpu.WeightOnlyOperands{Y: c.Out[0].Data, X: c.In[0].Data, Codes: c.In[1].Data,
			Scale: c.In[2].Data}
		if !p.NoBias {
			o.Bias = c.In[3].Data
		}
		return k.Run(o, c.Scratch)
	}}, nil
}
