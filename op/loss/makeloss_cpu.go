//go:build cgo

package loss

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(MakeLoss, attach.Unary[MakeLossParams](cpu.Map{Op: cpu.Copy}))
	for _, h := range []op.Handle[op.NoParams]{AsLoss, BlockGrad} {
		attach.TierC(h, attach.Unary[op.NoParams](cpu.Map{Op: cpu.Copy}))
	}
}
