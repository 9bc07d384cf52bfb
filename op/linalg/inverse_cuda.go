//go:build cuda

package linalg

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	squareCUDA(Inverse, "inverse", 3)
	squareCUDA(Det, "det", 2)
	squareCUDA(SlogDet, "slogdet", 2)
	attach.CUDA(detGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return inverseGradCUDA(a.In[2], 1)
	})
	attach.CUDA(slogDetGrad, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return inverseGradCUDA(a.In[1], 0)
	})
}
