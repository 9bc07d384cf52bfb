package update

import (
	"math"

	"gomx/op"
)

// RMSPropUpdateParams configures RMSPropUpdate.
type RMSPropUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Gamma1       op.Opt[float64] `op:"gamma1" default:"0.95" doc:"decay of the mean of squared gradients"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added below the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the gradient's elements, negative for none"`
	ClipWeights  op.Opt[float64] `op:"clip_weights" default:"-1" doc:"limit of the weights, negative for none"`
}

// RMSPropAlexUpdateParams configures RMSPropAlexUpdate.
type RMSPropAlexUpdateParams struct {
	LR           float64         `op:"lr,required,run" doc:"learning rate"`
	Gamma1       op.Opt[float64] `op:"gamma1" default:"0.95" doc:"decay of the means of gradients and their squares"`
	Gamma2       op.Opt[float64] `op:"gamma2" default:"0.9" doc:"share of the last step that is repeated"`
	Epsilon      op.Opt[float64] `op:"epsilon" default:"1e-08" doc:"added below the root"`
	WD           float64         `op:"wd" doc:"weight decay"`
	RescaleGrad  op.Opt[float64] `op:"rescale_grad" default:"1" doc:"factor of the gradient"`
	ClipGradient op.Opt[float64] `op:"clip_gradient" default:"-1" doc:"limit of the gradient's elements, negative for none"`
	ClipWeights  op.Opt[float64] `op:"clip_weights" default:"-1" doc:"limit of the weights, negative for none"`
}

// The two forms of RMSProp.
var (
	// RMSPropUpdate is one step of RMSProp.
	RMSPropUpdate = op.Declare[RMSPropUpdateParams]("rmsprop_update")
	// RMSPropAlexUpdate is one step of RMSProp with centred moments and momentum.
	RMSPropAlexUpdate = op.Declare[RMSPropAlexUpdateParams]("rmspropalex_update")
)

func init() {
	define(RMSPropUpdate, rule[RMSPropUpdateParams]{
		doc: `RMSPropUpdate (rmsprop_update) is one step of RMSProp (Tieleman and Hinton 2012).

g = clip(rescale_grad·grad + wd·weight); n = gamma1·n + (1-gamma1)·g²;
weight = clip(weight - lr·g/sqrt(n + epsilon))`,
		goName: "RMSPropUpdate",
		states: []string{"n"},
		step: func(p RMSPropUpdateParams) func(v []float64) {
			decay := p.Gamma1.Value()
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1]+p.WD*v[0], p.ClipGradient.Value())
				v[2] = decay*v[2] + (1-decay)*g*g
				v[0] = clip(v[0]-p.LR*g/math.Sqrt(v[2]+p.Epsilon.Value()), p.ClipWeights.Value())
			}
		},
	})
	define(RMSPropAlexUpdate, rule[RMSPropAlexUpdateParams]{
		doc: `RMSPropAlexUpdate (rmspropalex_update) is one step of RMSProp as in Graves 2013.

d = clip(rescale_grad·grad + wd·weight); n = gamma1·n + (1-gamma1)·d²;
g = gamma1·g + (1-gamma1)·d; delta = gamma2·delta - lr·d/sqrt(n - g² + epsilon);
weight = clip(weight + delta)`,
		goName: "RMSPropAlexUpdate",
		states: []string{"n", "g", "delta"},
		step: func(p RMSPropAlexUpdateParams) func(v []float64) {
			decay, momentum := p.Gamma1.Value(), p.Gamma2.Value()
			return func(v []float64) {
				g := clip(p.RescaleGrad.Value()*v[1]+p.WD*v[0], p.ClipGradient.Value())
				v[2] = decay*v[2] + (1-decay)*g*g
				v[3] = decay*v[3] + (1-decay)*g
				v[4] = momentum*v[4] - p.LR*g/math.Sqrt(v[2]-v[3]*v[3]+p.Epsilon.Value())
				v[0] = clip(v[0]+v[4], p.ClipWeights.Value())
			}
		},
	})
}
