//go:build cgo

package loss

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(BiasSoftmax, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		if !attach.Float32(a) {
			return nil, op.ErrUnsupported
		}
		n := a.In[1].Shape.Size()
		s := cpu.Softmax{Axis: cpu.Axis3{Outer: a.In[0].Shape.Size() / max(1, n), N: n, Inner: 1},
			Temperature: 1,
			Threads: attach.Threads(a, device.Work{Bytes: attach.Bytes(a),
				Elems: float64(a.In[0].Shape.Size())})}
		return attach.Kernel(s.Threads, 0, func(c *op.Call) {
			s.RunBiased(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
}
