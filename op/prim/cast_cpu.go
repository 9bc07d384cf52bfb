//go:build cgo

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	for _, h := range []op.Handle[CastParams]{Cast, AmpCast} {
		attach.TierC(h, func(_ CastParams, a *op.Args) (*op.Prepared, error) { return castC(a) })
	}
	attach.TierC(CastLike, func(_ op.NoParams, a *op.Args) (*op.Prepared, error) {
		return castC(a)
	})
}
