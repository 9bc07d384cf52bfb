//go:build cgo

package prim

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Slice, func(p SliceParams, a *op.Args) (*op.Prepared, error) {
		return sliceC(a, p.windows)
	})
	attach.TierC(SliceAxis, func(p SliceAxisParams, a *op.Args) (*op.Prepared, error) {
		return sliceC(a, p.windows)
	})
}
