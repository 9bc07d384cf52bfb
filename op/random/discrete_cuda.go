//go:build cuda

package random

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(RandInt, func(p RandIntParams, a *op.Args) (*op.Prepared, error) {
		k := wholeArgs{n: a.Out[0].Shape.Size(), low: p.Low, span: uint64(p.High - p.Low)}
		return attach.CUDAEach(attach.AnyFunc("draw", "whole"), k.n, k,
			func(k wholeArgs, c *op.Call) wholeArgs {
				k.out, k.key, k.counter = attach.AnyOf(c.Out[0]), c.Seed.Key, c.Seed.Counter
				return k
			})
	})
	attach.CUDA(Multinomial, func(p MultinomialParams, a *op.Args) (*op.Prepared, error) {
		k := classesArgs{n: a.Out[0].Shape.Size()}
		if k.classes, k.each = draws(op.Tensor{Desc: a.In[0]},
			op.Tensor{Desc: a.Out[0]}); k.classes == 0 {
			return nil, op.ErrUnsupported
		}
		return attach.CUDAEach(attach.AnyFunc("draw", "classes"), k.n, k,
			func(k classesArgs, c *op.Call) classesArgs {
				k.out, k.prob, k.key, k.counter = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					c.Seed.Key, c.Seed.Counter
				if p.GetProb {
					k.logs = attach.AnyOf(c.Out[1])
				}
				return k
			})
	})
	attach.CUDA(multinomialGrad, func(_ MultinomialParams, a *op.Args) (*op.Prepared, error) {
		k := classesArgs{n: a.Out[0].Shape.Size()}
		k.classes, k.each = draws(op.Tensor{Desc: a.In[1]}, op.Tensor{Desc: a.In[2]})
		return attach.CUDAEach(attach.AnyFunc("draw", "classes_grad"), k.n, k,
			func(k classesArgs, c *op.Call) classesArgs {
				k.out, k.head, k.prob, k.logs = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[0]),
					attach.AnyOf(c.In[1]), attach.AnyOf(c.In[2])
				return k
			})
	})
	attach.CUDA(Shuffle, shuffleCUDA)
}
