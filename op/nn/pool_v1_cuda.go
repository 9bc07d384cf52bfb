//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(PoolingV1, func(p PoolingV1Params, a *op.Args) (*op.Prepared, error) {
		return p.poolCUDA("pool", a.In[0], a.Out[0],
			func(args *poolArgs, c *op.Call) { args.x = c.In[0].Data })
	})
	attach.CUDA(PoolingV1Grad, func(p PoolingV1Params, a *op.Args) (*op.Prepared, error) {
		return p.poolCUDA("pool_grad", a.Out[0], a.In[0], func(args *poolArgs, c *op.Call) {
			args.dy, args.x, args.y = c.In[0].Data, c.In[1].Data, c.In[2].Data
		})
	})
}
