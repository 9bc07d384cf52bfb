package update

import (
	"gomx/device/cpu/pure"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierGo(SGDUpdate, func(p SGDUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := pure.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value())}
		return updateGo(a, u, func(u pure.Update, c *op.Call, out []float32, v [][]float32) {
			u.LR = float32(SGDUpdate.At(p, c).LR)
			u.SGD(out, v[0], v[1])
		})
	})
	attach.TierGo(SGDMomUpdate, func(p SGDMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := pure.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value()), Momentum: float32(p.Momentum)}
		return updateGo(a, u, func(u pure.Update, c *op.Call, out []float32, v [][]float32) {
			u.LR = float32(SGDMomUpdate.At(p, c).LR)
			u.SGDMomentum(out, v[0], v[1], v[2])
		})
	})
	attach.TierGo(NAGMomUpdate, func(p NAGMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := pure.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value()), Momentum: float32(p.Momentum)}
		return updateGo(a, u, func(u pure.Update, c *op.Call, out []float32, v [][]float32) {
			u.LR = float32(NAGMomUpdate.At(p, c).LR)
			u.NAG(out, v[0], v[1], v[2])
		})
	})
}

// updateGo prepares a step with constants u; the learning rate is read when it runs. v holds the
// inputs.
func updateGo(a *op.Args, u pure.Update, step func(u pure.Update, c *op.Call, out []float32,
	v [][]float32)) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	return attach.Kernel(1, 0, func(c *op.Call) {
		var v [4][]float32
		for i, t := range c.In {
			v[i] = attach.Floats(t)
		}
		step(u, c, attach.Floats(c.Out[0]), v[:])
	}), nil
}
