//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(L2Normalization, func(p L2NormalizationParams, a *op.Args) (*op.Prepared, error) {
		return p.launchCUDA("length", a, normOperands)
	})
	attach.CUDA(L2NormalizationGrad, func(p L2NormalizationParams, a *op.Args) (*op.Prepared,
		error) {
		return p.launchCUDA("length_grad", a, normGradOperands)
	})
}
