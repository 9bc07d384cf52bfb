package nn

import (
	"gomx/device"
	"gomx/device/cpu/pure"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(Pooling, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		k, threads, err := poolGo(p, a, a.In[0].Shape, a.Out[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) {
			k.Run(attach.Floats(c.Out[0]), attach.Floats(c.In[0]))
		}), nil
	})
	back := func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		k, threads, err := poolGo(p, a, a.Out[0].Shape, a.In[0].Shape)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) {
			k.RunGrad(attach.Floats(c.Out[0]), attach.Floats(c.In[0]), attach.Floats(c.In[1]))
		}), nil
	}
	attach.TierGo(PoolingGrad, back)
	attach.TierGo(PoolingSumGrad, back)
}

// poolGo prepares pooling of data to output, channels first; it leaves p-norms to the reference.
func poolGo(p PoolingParams, a *op.Args, data, output dtype.Shape) (*pure.Pool, int, error) {
	channel, _ := poolLayout(p, len(data))
	if channel != 1 || p.PoolType == "lp" || !attach.AllOf(dtype.Float32, a.In[:1]) ||
		!attach.AllOf(dtype.Float32, a.Out) {
		return nil, 0, op.ErrUnsupported
	}
	if p.GlobalPool {
		p.Kernel, p.Stride, p.Pad = data[2:], nil, nil
	}
	axes := len(data) - 2
	s := pure.PoolSpec{Avg: p.PoolType == "avg", Sum: p.PoolType == "sum", Planes: data[0] *
		data[1], In: data[2:], Out: output[2:],
		Kernel: p.Kernel, Stride: make([]int, axes), Pad: make([]int, axes),
		IncludePad: p.CountIncludePad.Or(true)}
	for i := range axes {
		s.Stride[i], s.Pad[i] = at(p.Stride, i, 1), at(p.Pad, i, 0)
	}
	reads := float64(output.Size()) * float64(dtype.Shape(p.Kernel).Size())
	s.Threads = attach.Threads(a, device.Work{Bytes: attach.Bytes(a) + 40*reads})
	return pure.NewPool(s), s.Threads, nil
}
