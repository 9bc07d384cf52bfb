//go:build cgo

package loss

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierC(RowLoss, rowLossC) }

func rowLossC(p RowLossParams, a *op.Args) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	rows, in := a.In[rowLabel].Shape.Size(), a.In[rowWeight].Shape[1]
	threads := attach.Threads(a, device.Work{Flops: 4 * float64(rows) * float64(in),
		Bytes: attach.Bytes(a)})
	k := cpu.RowLoss{Rows: rows, In: in, Sigmoid: p.Link == "sigmoid", Sign: p.Absolute,
		Threads: threads}
	return attach.Kernel(threads, k.Scratch(), func(c *op.Call) {
		r := cpu.RowGrads{Output: c.Out[0].Data, Weight: c.Out[1].Data}
		x := cpu.RowArgs{Data: c.In[rowData].Data, Weight: c.In[rowWeight].Data,
			Label: c.In[rowLabel].Data}
		if !p.NoBias {
			r.Bias, x.Bias = c.Out[2].Data, c.In[rowBias].Data
		}
		k.Run(r, x, c.Scratch)
	}), nil
}
