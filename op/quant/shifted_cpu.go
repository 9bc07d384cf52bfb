//go:build cgo

package quant

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() { attach.TierC(FusedQuantize, fusedQuantizeC) }

// fusedQuantizeC quantizes with zeros around the image.
func fusedQuantizeC(p FusedQuantizeParams, a *op.Args) (*op.Prepared, error) {
	x := a.In[0]
	if x.Layout != nil || len(x.Shape) == 0 || x.Shape.Size() == 0 {
		return nil, op.ErrUnsupported
	}
	q, out := imageQuantizer(a, p.PadWidth)
	q.Shift, q.Scale = float32(p.Shift), float32(p.Scale.Value())
	return &op.Prepared{Threads: q.Threads, Out: out, Run: func(c *op.Call) error {
		q.Run(c.Out[0].Data, c.In[0].Data)
		return nil
	}}, nil
}
