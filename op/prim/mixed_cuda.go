//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(ScaleGradient, attach.CUDAMove[op.NoParams]())
	attach.CUDA(KeptCast, func(_ CastParams, a *op.Args) (*op.Prepared, error) {
		return attach.CUDACast(a)
	})
	for _, h := range []op.Handle[CastsParams]{Casts, KeptCasts} {
		attach.CUDA(h, func(_ CastsParams, a *op.Args) (*op.Prepared, error) {
			return attach.CUDACasts(a)
		})
	}
}
