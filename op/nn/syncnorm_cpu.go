//go:build cgo

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(SyncBatchNorm, func(p SyncBatchNormParams, a *op.Args) (*op.Prepared, error) {
		if p.shares() && a.Train {
			return nil, op.ErrUnsupported
		}
		b, err := batchNormC(p.plain(), a, a.In[0])
		if err != nil {
			return nil, err
		}
		eps := p.Eps.Value()
		invs := 4 * a.In[1].Shape.Size()
		return attach.Kernel(b.Threads, invs, func(c *op.Call) {
			n := normOf(c)
			inv := c.Out[3]
			if inv.Data == nil {
				inv.Data = c.Scratch
			}
			n.Inv = inv.Data
			b.Run(n)
			if vars := op.Slice[float32](c.Out[2]); vars != nil {
				for k, v := range op.Slice[float32](inv) {
					vars[k] = float32(max(0, 1/(float64(v)*float64(v))-eps))
				}
			}
		}), nil
	})
}
