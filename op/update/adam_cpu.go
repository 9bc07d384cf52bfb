//go:build cgo

package update

import (
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(AdamUpdate, func(p AdamUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := cpu.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip:  float32(p.ClipGradient.Value()),
			Beta1: float32(p.Beta1.Value()), Beta2: float32(p.Beta2.Value()),
			E: float32(p.Epsilon.Value())}
		return updateC(a, u, func(u cpu.Update, c *op.Call) {
			u.LR = float32(AdamUpdate.At(p, c).LR)
			u.Adam(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data, c.In[3].Data)
		})
	})
}
