package update

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(SGDUpdate, func(p SGDUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := &pure.Update{LR: float32(p.LR), WD: float32(p.WD), Rescale: float32(p.RescaleGrad), Clip: float32(p.ClipGradient)}
		return updateGo(a, func(out []float32, v [][]float32) { u.SGD(out, v[0], v[1]) })
	})
	attach.TierGo(SGDMomUpdate, func(p SGDMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := &pure.Update{LR: float32(p.LR), WD: float32(p.WD), Rescale: float32(p.RescaleGrad), Clip: float32(p.ClipGradient), Momentum: float32(p.Momentum)}
		return updateGo(a, func(out []float32, v [][]float32) { u.SGDMomentum(out, v[0], v[1], v[2]) })
	})
	attach.TierGo(NAGMomUpdate, func(p NAGMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := &pure.Update{LR: float32(p.LR), WD: float32(p.WD), Rescale: float32(p.RescaleGrad), Clip: float32(p.ClipGradient), Momentum: float32(p.Momentum)}
		return updateGo(a, func(out []float32, v [][]float32) { u.NAG(out, v[0], v[1], v[2]) })
	})
	attach.TierGo(AdamUpdate, func(p AdamUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := &pure.Update{LR: float32(p.LR), WD: float32(p.WD), Rescale: float32(p.RescaleGrad), Clip: float32(p.ClipGradient),
			Beta1: float32(p.Beta1.Value()), Beta2: float32(p.Beta2.Value()), E: float32(p.Epsilon)}
		return updateGo(a, func(out []float32, v [][]float32) { u.Adam(out, v[0], v[1], v[2], v[3]) })
	})
}

// updateGo prepares a step; v holds the inputs.
func updateGo(a *op.Args, step func(out []float32, v [][]float32)) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(1, 0, func(c *op.Call) {
		var v [4][]float32
		for i, t := range c.In {
			v[i] = attach.Floats(t)
		}
		step(attach.Floats(c.Out[0]), v[:])
	}), nil
}
