//go:build cgo

package index

import (
	"unsafe"

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
		k := cpu.Lookup{N: a.In[0].Shape.Size(), Rows: p.InputDim, Width: p.OutputDim, Threads: attach.Threads(a, device.Work{Bytes: 2 * float64(a.Out[0].Bytes)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[1].Data, c.In[0].Data) }), nil
	})
	attach.TierC(embeddingGrad, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		k := cpu.Lookup{N: a.In[1].Shape.Size(), Rows: p.InputDim, Width: p.OutputDim, Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) { k.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data) }), nil
	})
	attach.TierC(OneHot, func(p OneHotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		k := cpu.OneHot{N: a.In[0].Shape.Size(), Depth: p.Depth, On: float32(p.OnValue.Value()), Off: float32(p.OffValue),
			Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[0].Data) }), nil
	})
	attach.TierC(ArgMax, func(p ArgParams, a *op.Args) (*op.Prepared, error) { return argC(p, a, cpu.ArgMax) })
	attach.TierC(ArgMin, func(p ArgParams, a *op.Args) (*op.Prepared, error) { return argC(p, a, cpu.ArgMin) })
	attach.TierC(ArgMaxChannel, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return argC(channel(), a, cpu.ArgMax)
	})
}

func argC(p ArgParams, a *op.Args, find func(d, x unsafe.Pointer, axis cpu.Axis3, threads int)) (*op.Prepared, error) {
	v, err := vectors(p.Axis, a.In[0].Shape)
	if err != nil {
		return nil, err
	}
	if !attach.Float32(a) || v.n == 0 || v.step == 0 || v.n > 1<<24 {
		return nil, op.ErrUnsupported
	}
	axis, threads := cpu.Axis3{Outer: v.count / v.step, N: v.n, Inner: v.step}, attach.Threads(a, device.Work{Bytes: 4 * attach.Bytes(a)})
	return attach.Kernel(threads, 0, func(c *op.Call) { find(c.Out[0].Data, c.In[0].Data, axis, threads) }), nil
}
