//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(TopK, topCUDA)
	attach.CUDA(Sort, func(p SortParams, a *op.Args) (*op.Prepared, error) {
		return topCUDA(p.topK(), a)
	})
	attach.CUDA(ArgSort, func(p ArgSortParams, a *op.Args) (*op.Prepared, error) {
		return topCUDA(p.topK(), a)
	})
	attach.CUDA(topKGrad, func(p TopKParams, a *op.Args) (*op.Prepared, error) {
		bytes := a.Out[0].Bytes
		return chosenCUDA(p, a.Out[0].Shape, func(q *cuda.Queue, c *op.Call,
			k chosenArgs) (chosenArgs, error) {
			k.x, k.indices, k.values, k.back = attach.AnyOf(c.Out[0]), attach.AnyOf(c.In[1]),
				attach.AnyOf(c.In[0]), 1
			return k, q.Clear(c.Out[0].Data, bytes)
		})
	})
	attach.CUDA(topKSelect, func(p TopKParams, a *op.Args) (*op.Prepared, error) {
		return chosenCUDA(p, a.In[0].Shape, func(_ *cuda.Queue, c *op.Call,
			k chosenArgs) (chosenArgs, error) {
			k.x, k.indices, k.values = attach.AnyOf(c.In[0]), attach.AnyOf(c.In[1]),
				attach.AnyOf(c.Out[0])
			return k, nil
		})
	})
}
