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
		k, err := takeC(p, a, a.In[0].Shape, a.In[1], a.Out[0])
		if err != nil || a.In[0].Layout != nil {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, k.Scratch(), func(c *op.Call) {
			k.Run(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.Scratch)
		}), nil
	})
	attach.TierC(takeGrad, func(p TakeParams, a *op.Args) (*op.Prepared, error) {
		k, err := takeC(p, a, a.Out[0].Shape, a.In[1], a.In[0])
		if err != nil || k.Outer != 1 || !attach.AllOf(dtype.Float32, a.In[:1]) ||
			!attach.AllOf(dtype.Float32, a.Out) {
			return nil, op.ErrUnsupported
		}
		return attach.Kernel(k.Threads, 0, func(c *op.Call) {
			k.RunGrad(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		}), nil
	})
}

// takeC serves indices that need no check, into an array of shape table; rows are the selected ones.
func takeC(p TakeParams, a *op.Args, table dtype.Shape, indices, rows op.Desc) (cpu.Lookup, error) {
	axis, err := prim.Axis("axis", p.Axis, len(table))
	if err != nil {
		return cpu.Lookup{}, err
	}
	k, ok := cpu.Lookup{N: indices.Shape.Size(), Rows: table[axis], Width: table[axis+1:].Size(),
		Outer: table[:axis].Size(), Wrap: p.Mode == "wrap",
		Threads: attach.Threads(a, device.Work{Bytes: 2 * float64(rows.Bytes)}),
	}.Indexed(indices.DType, rows.DType)
	if !ok || p.Mode == "raise" || k.Rows == 0 || indices.Layout != nil || rows.Layout != nil {
		return k, op.ErrUnsupported
	}
	return k, nil
}
