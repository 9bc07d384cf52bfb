//go:build cuda

package loss

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(SmoothL1, func(p SmoothL1Params, a *op.Args) (*op.Prepared, error) {
		s2 := p.Scalar.Value() * p.Scalar.Value()
		return attach.CUDAMap(a, "smooth_l1", s2, 1/s2)
	})
	attach.CUDA(SmoothL1Grad, func(p SmoothL1Params, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAZipWith(a, "smooth_l1_grad", 0, 1, p.Scalar.Value()*p.Scalar.Value())
	})
}
