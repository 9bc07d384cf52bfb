//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(poolSelect, func(p PoolingParams, a *op.Args) (*op.Prepared, error) {
		return poolCUDA("pool_select", p, a.In[1], a.Out[0],
			func(args *poolArgs, c *op.Call) { args.dy, args.x = c.In[0].Data, c.In[1].Data })
	})
	attach.CUDA(poolV1Select, func(p PoolingV1Params, a *op.Args) (*op.Prepared, error) {
		return p.poolCUDA("pool_select", a.In[1], a.Out[0], func(args *poolArgs, c *op.Call) {
			args.dy, args.x, args.y = c.In[0].Data, c.In[1].Data, c.In[2].Data
		})
	})
}
