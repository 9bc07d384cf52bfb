//go:build cgo

package index

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(ArgMax, func(p ArgParams, a *op.Args) (*op.Prepared, error) {
		return argC(p, a, cpu.ArgMax)
	})
	attach.TierC(ArgMin, func(p ArgParams, a *op.Args) (*op.Prepared, error) {
		return argC(p, a, cpu.ArgMin)
	})
	attach.TierC(ArgMaxChannel, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return argC(channel(), a, cpu.ArgMax)
	})
}
