//go:build cuda

package nn

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(LRN, func(p LRNParams, a *op.Args) (*op.Prepared, error) {
		return p.launchCUDA("lrn", a, normOperands)
	})
	attach.CUDA(LRNGrad, func(p LRNParams, a *op.Args) (*op.Prepared, error) {
		return p.launchCUDA("lrn_grad", a, normGradOperands)
	})
}
