//go:build cgo

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(SliceChannel, func(p SliceChannelParams, a *op.Args) (*op.Prepared, error) {
		rows, threads, err := stripes(p.Axis.Value(), a, a.In[0], a.Out)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) { cutUp(rows, c.In[0], c.Out) }), nil
	})
	attach.TierC(joinChannel, func(p SliceChannelParams, a *op.Args) (*op.Prepared, error) {
		rows, threads, err := stripes(p.Axis.Value(), a, a.Out[0], a.In)
		if err != nil {
			return nil, err
		}
		return attach.Kernel(threads, 0, func(c *op.Call) {
			for i, r := range rows {
				r.join(c.Out[0], c.In[i])
			}
		}), nil
	})
}
