package update

import "gomx/op"

// SignSGDUpdateParams configures SignSGDUpdate.
type SignSGDUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"accepted for compatibility: a sign is not changed by clipping"`
}

// SignumUpdateParams configures SignumUpdate.
type SignumUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Momentum     float64         `op:"momentum" doc:"decay of the mean of gradients"`
	WD           float64         `op:"wd" doc:"weight decay, added to the gradient"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the rescaled gradient's elements, negative for none"`
	WDLH         float64         `op:"wd_lh" doc:"weight decay that shrinks weights directly"`
}

// Optimizers that use only the sign of gradients.
var (
	// SignSGDUpdate is one step of signSGD.
	SignSGDUpdate = op.Declare[SignSGDUpdateParams]("signsgd_update")
	// SignumUpdate is SignSGDUpdate with momentum.
	SignumUpdate = op.Declare[SignumUpdateParams]("signum_update")
)

func init() {
	define(SignSGDUpdate, rule[SignSGDUpdateParams]{
		doc: `SignSGDUpdate (signsgd_update) is one step of signSGD (Bernstein et al. 2018).

weight = (1 - lr·wd)·weight - lr·sign(grad)`,
		goName: "SignSGDUpdate",
		step: func(p SignSGDUpdateParams) func(v []float64) {
			return func(v []float64) { v[0] = (1-p.LR*p.WD)*v[0] - p.LR*sign(v[1]) }
		},
	})
	define(SignumUpdate, rule[SignumUpdateParams]{
		doc: `SignumUpdate (signum_update) is one step of signSGD with momentum.

mom = momentum·mom - (1-momentum)·(wd·weight + clip(rescale_grad·grad));
weight = (1 - lr·wd_lh)·weight + lr·sign(mom)`,
		goName: "SignumUpdate",
		states: []string{"mom"},
		step: func(p SignumUpdateParams) func(v []float64) {
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1], p.ClipGradient.Value())
				v[2] = p.Momentum*v[2] - (1-p.Momentum)*(p.WD*v[0]+g)
				v[0] = (1-p.LR*p.WDLH)*v[0] + p.LR*sign(v[2])
			}
		},
	})
}
