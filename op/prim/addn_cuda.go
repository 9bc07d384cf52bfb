//go:build cuda

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(GradAdd, attach.CUDABinary[op.NoParams]("add"))
	attach.CUDA(AddN, addUpCUDA)
}
