//go:build cuda

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(Transpose, permuteCUDA(transposeAxes))
	attach.CUDA(SwapAxis, permuteCUDA(swapAxes))
}
