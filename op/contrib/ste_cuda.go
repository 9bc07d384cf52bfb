//go:build cuda

package contrib

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.CUDA(RoundSTE, attach.CUDAUnary[op.NoParams]("round"))
	attach.CUDA(SignSTE, attach.CUDAUnary[op.NoParams]("sign"))
}
