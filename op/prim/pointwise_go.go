package prim

import (
	"gomx/device"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(FusedPointwise, func(p PointwiseParams, a *op.Args) (*op.Prepared, error) {
		return prepareBlocks(p, a, device.TierGo)
	})
}
