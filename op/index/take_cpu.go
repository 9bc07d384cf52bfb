//go:build cgo

package index

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/dtype"
	"gomx/op"
	"gomx/op/attach"
	"gomx/op/prim"
)

func init() {
	attach.Exactly(Take, func(p TakeParams, a *op.Args) (*op.Prepared, error) {
		k, outer, err := takeC(p, a, a.In[0].Shape, a.In[1], a.Out[0].Bytes)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunEach(c.Out[0].Data, c.In[0].Data, c.In[1].Data, outer)
		}), nil
	})
	attach.TierC(takeGrad, func(p TakeParams, a *op.Args) (*op.Prepared, error) {
		k, outer, err := takeC(p, a, a.Out[0].Shape, a.In[1], a.In[0].Bytes)
		if err != nil {
			return nil, err
		}
		if outer != 1 {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
}

// takeC serves float32 data and indices that need no check.
func takeC(p TakeParams, a *op.Args, data dtype.Shape, indices op.Desc, bytes int) (cpu.Lookup, int,
	error) {
	axis, err := prim.Axis("axis", p.Axis, len(data))
	if err != nil {
		return cpu.Lookup{}, 0, err
	}
	if !attach.AllOf(dtype.Float32, a.In) || !attach.AllOf(dtype.Float32, a.Out) ||
		p.Mode == "raise" || data[axis] == 0 {
		return cpu.Lookup{}, 0, op.ErrUnsupported
	}
	return cpu.Lookup{N: indices.Shape.Size(), Rows: data[axis], Width: data[axis+1:].Size(),
		Wrap:    p.Mode == "wrap",
		Threads: attach.Threads(a, device.Work{Bytes: 2 * float64(bytes)})}, data[:axis].Size(), nil
}
