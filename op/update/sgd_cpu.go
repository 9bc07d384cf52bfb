//go:build cgo

package update

import (
	"gomx/device"
	"gomx/device/cpu"
	"gomx/op"
	"gomx/op/attach"
)

func init() {
	attach.TierC(SGDUpdate, func(p SGDUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := cpu.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value())}
		return updateC(a, u, func(u cpu.Update, c *op.Call) {
			u.LR = float32(SGDUpdate.At(p, c).LR)
			u.SGD(c.Out[0].Data, c.In[0].Data, c.In[1].Data)
		})
	})
	attach.TierC(SGDMomUpdate, func(p SGDMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := cpu.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value()), Momentum: float32(p.Momentum)}
		return updateC(a, u, func(u cpu.Update, c *op.Call) {
			u.LR = float32(SGDMomUpdate.At(p, c).LR)
			u.SGDMomentum(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data)
		})
	})
	attach.TierC(NAGMomUpdate, func(p NAGMomUpdateParams, a *op.Args) (*op.Prepared, error) {
		u := cpu.Update{WD: float32(p.WD), Rescale: float32(p.RescaleGrad.Value()),
			Clip: float32(p.ClipGradient.Value()), Momentum: float32(p.Momentum)}
		return updateC(a, u, func(u cpu.Update, c *op.Call) {
			u.LR = float32(NAGMomUpdate.At(p, c).LR)
			u.NAG(c.Out[0].Data, c.In[0].Data, c.In[1].Data, c.In[2].Data)
		})
	})
}

// updateC prepares a step with constants u; the learning rate is read when it runs.
func updateC(a *op.Args, u cpu.Update, run func(u cpu.Update, c *op.Call)) (*op.Prepared, error) {
	if !attach.Float32(a) {
		return nil, op.ErrUnsupported
	}
	u.N = a.Out[0].Shape.Size()
	u.Threads = attach.Threads(a, device.Work{Bytes: attach.Bytes(a)})
	return attach.Kernel(u.Threads, 0, func(c *op.Call) { run(u, c) }), nil
}
