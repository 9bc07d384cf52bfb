//go:build cgo

package quant

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/nn"
)

func init() {
	attach.TierC(Pooling, poolC)
}

// poolC pools by max. It takes and gives channels last where it may.
func poolC(p nn.PoolingParams, a *op.Args) (*op.Prepared, error) {
	x, y := a.In[0], a.Out[0]
	if p.PoolType != "max" || x.Shape.Size() == 0 || y.Shape.Size() == 0 ||
		p.Layout != "None" && p.Layout != "NCHW" && p.Layout != "NCDHW" {
		return nil, op.ErrUnsupported
	}
	n := len(x.Shape) - 2
	if p.GlobalPool {
		p.Kernel, p.Stride, p.Pad = x.Shape[2:], nil, nil
	}
	b := cpu.BytePool{Batch: x.Shape[0], Channels: x.Shape[1], In: x.Shape[2:], Out: y.Shape[2:],
		Kernel: p.Kernel, Stride: each(p.Stride, n, 1), Pad: each(p.Pad, n, 0),
		Signed: x.DType == dtype.Int8}
	reads := 1.0
	for i, k := range b.Kernel {
		reads *= float64(k)
		if b.Pad[i] >= k || (b.Out[i]-1)*b.Stride[i]-b.Pad[i] >= b.In[i] {
			return nil, op.ErrUnsupported // a window in the padding altogether
		}
	}
	l, ok := layoutOf(x)
	if !ok {
		return nil, op.ErrUnsupported
	}
	b.XLast = l == cpu.LayoutLast
	out := append([]op.Desc{}, a.Out...)
	if b.YLast = a.Chooses(0); b.YLast {
		out[0] = attach.InLayout(y, cpu.LayoutLast)
	}
	b.Threads = attach.Threads(a, device.Work{Bytes: reads * float64(y.Shape.Size())})
	return &op.Prepared{Threads: b.Threads, Out: out, Run: func(c *op.Call) error {
		if c.Out[0].Data != nil {
			b.Run(c.Out[0].Data, c.In[0].Data)
		}
		storeRange(c.Out[1:], number(c.In[1]), number(c.In[2]))
		return nil
	}}, nil
}
