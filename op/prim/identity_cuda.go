//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Identity, attach.CUDAMove[op.NoParams]())
	attach.CUDA(IdentityWithAttrLike, attach.CUDAMove[op.NoParams]())
	attach.CUDA(ZerosLike, attach.CUDAFill(func(op.NoParams) float64 { return 0 }))
	attach.CUDA(OnesLike, attach.CUDAFill(func(op.NoParams) float64 { return 1 }))
}
