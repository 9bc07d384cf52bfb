//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	mapsC(map[op.Handle[op.NoParams]]cpu.MapOp{
		Identity: cpu.Copy,
	})
	attach.TierC(ZerosLike, fillWith[op.NoParams](func(op.NoParams) float64 { return 0 }))
	attach.TierC(NoGradient, fillWith[op.NoParams](func(op.NoParams) float64 { return 0 }))
	attach.TierC(OnesLike, fillWith[op.NoParams](func(op.NoParams) float64 { return 1 }))
}
