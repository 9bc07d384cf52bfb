//go:build cgo

package random

import (
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(Normal, func(p NormalParams, a *op.Args) (*op.Prepared, error) {
		return normalC(p.Loc, p.Scale.Value(), a)
	})
	attach.TierC(NormalLike, func(p NormalLikeParams, a *op.Args) (*op.Prepared, error) {
		return normalC(p.Loc, p.Scale.Value(), a)
	})
	attach.TierC(Uniform, func(p UniformParams, a *op.Args) (*op.Prepared, error) {
		return uniformC(p.Low, p.High.Value(), a)
	})
	attach.TierC(UniformLike, func(p UniformLikeParams, a *op.Args) (*op.Prepared, error) {
		return uniformC(p.Low, p.High.Value(), a)
	})
}
