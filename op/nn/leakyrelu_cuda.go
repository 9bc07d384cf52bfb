//go:build cuda

package nn

import (
	"gomx/op/attach"
)

func init() {
	attach.CUDA(LeakyReLU, leakyCUDA)
	attach.CUDA(LeakyReLUGrad, leakyGradCUDA)
}
