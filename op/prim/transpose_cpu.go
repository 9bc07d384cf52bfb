//go:build cgo

package prim

import (
	"gomx/op/attach"
)

func init() {
	attach.TierC(Transpose, permuteC(transposeAxes))
	attach.TierC(SwapAxis, permuteC(swapAxes))
}
