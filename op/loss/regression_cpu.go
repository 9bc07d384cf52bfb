//go:build cgo

package loss

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(LinearRegressionOutput, attach.Unary[RegressionParams](cpu.Map{Op: cpu.Copy}))
	attach.TierC(MAERegressionOutput, attach.Unary[RegressionParams](cpu.Map{Op: cpu.Copy}))
	attach.TierC(LogisticRegressionOutput, attach.Unary[RegressionParams](cpu.Map{Op: cpu.Sigmoid}))
	for _, h := range []op.Handle[RegressionParams]{LinearRegressionGrad, LogisticRegressionGrad} {
		attach.TierC(h, func(p RegressionParams, a *op.Args) (*op.Prepared, error) {
			scale := float32(p.GradScale.Value() / float64(max(perSample(a.In[0].Shape), 1)))
			return attach.Zip(a, cpu.Zip{Op: cpu.AXPBY, S: scale, T: -scale})
		})
	}
}
