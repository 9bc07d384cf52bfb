//go:build cuda

package loss

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(lossValue, attach.CUDAMove[linkParams]())
}
