//go:build cgo

package index

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(OneHot, func(p OneHotParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		k := cpu.OneHot{N: a.In[0].Shape.Size(), Depth: p.Depth, On: float32(p.OnValue.Value()),
			Off:     float32(p.OffValue),
			Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) { k.Run(c.Out[0].Data, c.In[0].Data) }),
			nil
	})
}
