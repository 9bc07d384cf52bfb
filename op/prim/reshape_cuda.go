//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Reshape, attach.CUDAMove[ReshapeParams]())
	attach.CUDA(ReshapeLike, attach.CUDAMove[ReshapeLikeParams]())
	attach.CUDA(Flatten, attach.CUDAMove[op.NoParams]())
	attach.CUDA(ExpandDims, attach.CUDAMove[ExpandDimsParams]())
	attach.CUDA(Squeeze, attach.CUDAMove[SqueezeParams]())
	attach.CUDA(ShapeLike, attach.CUDAMove[op.NoParams]())
}
