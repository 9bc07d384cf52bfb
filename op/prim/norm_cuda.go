//go:build cuda

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Norm, normCUDA)
	attach.CUDA(Moments, momentsCUDA)
}
