package update

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(AdamUpdate, func(p AdamUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := pure.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip:  float32(p.ClipGradient.Value()),
			Beta1: float32(p.Beta1.Value()), Beta2: float32(p.Beta2.Value()),
			E: float32(p.Epsilon.Value())}
		return updateGo(a, u, func(u pure.Update, c *op.Call, out []float32, v [][]float32) {
			u.LR = float32(AdamUpdate.At(p, c).LR)
			u.Adam(out, v[0], v[1], v[2], v[3])
		})
	})
}
