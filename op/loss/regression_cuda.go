//go:build cuda

package loss

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(LinearRegressionOutput, attach.CUDAMove[RegressionParams]())
	attach.CUDA(MAERegressionOutput, attach.CUDAMove[RegressionParams]())
	attach.CUDA(LogisticRegressionOutput, attach.CUDAUnary[RegressionParams]("sigmoid"))
	attach.CUDA(MakeLoss, attach.CUDAMove[MakeLossParams]())
	attach.CUDA(AsLoss, attach.CUDAMove[op.NoParams]())
	attach.CUDA(BlockGrad, attach.CUDAMove[op.NoParams]())
	for h, name := range map[op.Handle[RegressionParams]]string{LinearRegressionGrad: "scaled_difference", LogisticRegressionGrad: "scaled_difference",
		MAERegressionGrad: "scaled_sign"} {
		attach.CUDA(h, func(p RegressionParams, a *op.Args) (*op.Prepared, error) {
			flat := &op.Args{In: []op.Desc{a.In[0], a.In[1]}, Out: a.Out}
			flat.In[1].Shape = a.In[0].Shape
			return attach.CUDAZipWith(flat, name, 0, 1, p.GradScale.Value()/float64(max(perSample(a.In[0].Shape), 1)))
		})
	}
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
	attach.CUDA(SmoothL1, func(p SmoothL1Params, a *op.Args) (*op.Prepared, error) {
		s2 := p.Scalar.Value() * p.Scalar.Value()
		return attach.CUDAMap(a, "smooth_l1", s2, 1/s2)
	})
	attach.CUDA(SmoothL1Grad, func(p SmoothL1Params, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAZipWith(a, "smooth_l1_grad", 0, 1, p.Scalar.Value()*p.Scalar.Value())
	})
}
