//go:build cgo

package prim

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(AddN, func(_ AddNParams, a *op.Args) (*op.Prepared, error) { return addUp(a) })
	attach.TierC(GradAdd, attach.Binary[op.NoParams](cpu.Add))
}
