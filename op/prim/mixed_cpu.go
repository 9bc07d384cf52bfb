//go:build cgo

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(KeptCast, func(_ CastParams, a *op.Args) (*op.Prepared, error) { return castC(a) })
}
