//go:build cuda

package loss

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(MakeLoss, attach.CUDAMove[MakeLossParams]())
	attach.CUDA(AsLoss, attach.CUDAMove[op.NoParams]())
	attach.CUDA(BlockGrad, attach.CUDAMove[op.NoParams]())
	attach.CUDA(MakeLossGrad, func(p MakeLossParams, a *op.Args) (*op.Prepared, error) {
		g := p.GradScale.Value()
		switch p.Normalization {
		case "batch":
			g /= float64(max(rows(a.In[0].Shape), 1))
		case "valid":
			return validGradCUDA(p, a)
		}
		return attach.CUDAFill(func(MakeLossParams) float64 { return g })(p, a)
	})
}
