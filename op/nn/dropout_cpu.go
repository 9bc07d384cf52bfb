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
	attach.TierC(Dropout, dropoutC)
	attach.TierC(DropoutGrad, dropoutGradC)
}

// dropoutC serves masks of the data's shape.
func dropoutC(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n := a.In[0].Shape.Size()
	if !attach.AllOf(dtype.Float32, a.In) || a.Out[1].Shape.Size() != n || !drops(p, a.Train) {
		return nil, op.ErrUnsupported
	}
	k := cpu.Dropout{N: n, Keep: 1 - p.P.Value(), Threads: attach.Threads(a,
		device.Work{Bytes: attach.Bytes(a), Elems: float64(n)})}
	return attach.Kernel(k.Threads, 0, func(c *op.Call) {
		k.Run(c.Out[0].Data, c.Out[1].Data, c.In[0].Data, cpu.Philox{Key: c.Seed.Key,
			Counter: c.Seed.Counter})
	}), nil
}

func dropoutGradC(p DropoutParams, a *op.Args) (*op.Prepared, error) {
	n := a.Out[0].Shape.Size()
	if !attach.AllOf(dtype.Float32, a.Out) || !attach.AllOf(dtype.Float32, a.In[:1]) ||
		a.In[1].Shape.Size() != n {
		return nil, op.ErrUnsupported
	}
	threads := attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	if !drops(p, a.Train) {
		k := cpu.Map{Op: cpu.Copy, Threads: threads}
		return attach.Kernel(threads, 0, func(c *op.Call) {
			k.Run(c.Out[0].Data, c.In[0].Data, n)
		}), nil
	}
	k := cpu.Mask{N: n, Scale: float32(p.scale()), Threads: threads}
	return attach.Kernel(threads, 0, func(c *op.Call) {
		k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
	}), nil
}
