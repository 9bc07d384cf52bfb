//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Clip, func(p ClipParams, a *op.Args) (*op.Prepared, error) {
		return attach.Map(a, cpu.Map{Op: cpu.Clip, S: float32(p.AMin), T: float32(p.AMax)})
	})
}
