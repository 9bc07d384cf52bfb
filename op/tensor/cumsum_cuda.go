//go:build cuda

package tensor

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(CumSum, func(p CumSumParams, a *op.Args) (*op.Prepared, error) {
		return runningCUDA(p, a, false)
	})
	attach.CUDA(cumSumGrad, func(p CumSumParams, a *op.Args) (*op.Prepared, error) {
		return runningCUDA(p, a, true)
	})
}
