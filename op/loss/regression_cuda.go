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
	for h, name := range map[op.Handle[RegressionParams]]string{LinearRegressionGrad: "scaled_difference", LogisticRegressionGrad: "scaled_difference",
		MAERegressionGrad: "scaled_sign"} {
		attach.CUDA(h, func(p RegressionParams, a *op.Args) (*op.Prepared, error) {
			flat := &op.Args{In: []op.Desc{a.In[0], a.In[1]}, Out: a.Out}
			flat.In[1].Shape = a.In[0].Shape
			return attach.CUDAZipWith(flat, name, 0, 1,
				p.GradScale.Value()/float64(max(perSample(a.In[0].Shape), 1)))
		})
	}
}
