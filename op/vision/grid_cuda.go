//go:build cuda

package vision

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(GridGenerator, func(p GridGeneratorParams, a *op.Args) (*op.Prepared, error) {
		k := newGridArgs(a.Out[0].Shape)
		return p.gridCUDA("grid_"+p.TransformType, a.In[0].DType, k,
			func(k gridArgs, c *op.Call) gridArgs {
				k.grid, k.in = attach.AnyOf(c.Out[0]), c.In[0].Data
				return k
			})
	})
	attach.CUDA(gridGeneratorGrad, func(p GridGeneratorParams, a *op.Args) (*op.Prepared, error) {
		k := newGridArgs(a.In[0].Shape)
		return p.gridCUDA("grid_"+p.TransformType+"_grad", a.In[0].DType, k,
			func(k gridArgs, c *op.Call) gridArgs {
				k.out, k.in = c.Out[0].Data, c.In[0].Data
				return k
			})
	})
}
