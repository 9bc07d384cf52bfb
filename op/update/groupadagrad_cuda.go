//go:build cuda

package update

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(GroupAdagradUpdate, func(p GroupAdagradUpdateParams, a *op.Args) (*op.Prepared,
		error) {
		k := rowStepArgs{rows: a.In[2].Shape.Size()}
		k.width = a.In[0].Shape.Size() / max(k.rows, 1)
		return attach.CUDABlocks(attach.AnyFunc("trust", "row_adagrad"), k.rows, k.width, k,
			func(k rowStepArgs, c *op.Call) rowStepArgs {
				now := GroupAdagradUpdate.At(p, c)
				k.lr, k.rescale, k.limit, k.eps = now.LR, now.RescaleGrad.Value(),
					now.ClipGradient.Value(), now.Epsilon.Value()
				k.out, k.weight, k.grad, k.history = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					attach.AnyOf(c.In[1]), attach.AnyOf(c.In[2])
				return k
			})
	})
}
