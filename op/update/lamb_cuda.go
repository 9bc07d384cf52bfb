//go:build cuda

package update

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for h, master := range map[op.Handle[LambUpdatePhase1Params]]int{LambUpdatePhase1: 0,
		MPLambUpdatePhase1: 4} {
		attach.CUDA(h, func(p LambUpdatePhase1Params, a *op.Args) (*op.Prepared, error) {
			n := a.Out[0].Shape.Size()
			return attach.CUDAEach(attach.AnyFunc("trust", "direction"), n, p.directionCUDA(n),
				func(k directionArgs, c *op.Call) directionArgs {
					k.out, k.weight, k.grad = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[master]),
						attach.AnyOf(c.In[1])
					k.mean, k.variance = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
					return k
				})
		})
	}
	for h, master := range map[op.Handle[LambUpdatePhase2Params]]int{LambUpdatePhase2: 0,
		MPLambUpdatePhase2: 4} {
		attach.CUDA(h, func(p LambUpdatePhase2Params, a *op.Args) (*op.Prepared, error) {
			n := a.Out[0].Shape.Size()
			return attach.CUDAEach(attach.AnyFunc("trust", "along"), n, alongArgs{n: n},
				func(k alongArgs, c *op.Call) alongArgs {
					now := h.At(p, c)
					k.lr, k.lower, k.upper = now.LR, now.LowerBound.Value(), now.UpperBound.Value()
					k.out, k.weight, k.g = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[master]),
						attach.AnyOf(c.In[1])
					k.r1, k.r2 = attach.AnyOf(c.In[2]), attach.AnyOf(c.In[3])
					if master > 0 {
						k.exact = k.weight
					}
					return k
				})
		})
	}
}
