//go:build cuda

package tensor

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(HardSigmoid, func(p HardSigmoidParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDAMap(a, "hardsigmoid", p.Alpha.Value(), p.Beta.Value())
	})
}
