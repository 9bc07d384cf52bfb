//go:build cuda

package index

import (
	"gomx/device/cuda"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Embedding, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		k := lookupArgs{cuda.Code(a.In[0].DType), 1, p.InputDim, a.In[0].Shape.Size(), p.OutputDim,
			0}
		return gatherCUDA("take", k, a.Out[0], 1, 0)
	})
	attach.CUDA(embeddingGrad, func(p EmbeddingParams, a *op.Args) (*op.Prepared, error) {
		k := lookupArgs{cuda.Code(a.In[1].DType), 1, p.InputDim, a.In[1].Shape.Size(), p.OutputDim,
			0}
		return sumLookupCUDA(k, a.Out[0])
	})
}
