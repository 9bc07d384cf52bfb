package optimizer

import (
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// LAMB is Adam whose steps are scaled, layer by layer, by the norm of the weight (You et al.,
// 2020).
type LAMB struct {
	LR         float64         `opt:"learning_rate,positive"` // 0: 0.001
	Beta1      op.Opt[float64] `opt:"beta1"`                  // unset: 0.9
	Beta2      op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	Epsilon    op.Opt[float64] `opt:"epsilon"`                // unset: 1e-6
	LowerBound float64         `opt:"lower_bound"`            // limit of the weight's norm; 0: none
	UpperBound float64         `opt:"upper_bound"`            // limit of the weight's norm; 0: none
	// NoBiasCorrection leaves the running means as they are.
	NoBiasCorrection bool    `opt:"bias_correction,not"`
	WD               float64 `opt:"wd"`
	Common
}

// Name returns lamb.
func (LAMB) Name() string { return "lamb" }

// Settings returns the parameters that all optimizers have.
func (o LAMB) Settings() Settings { return Settings{orDefault(o.LR, 0.001), o.WD, o.Common} }

// State returns the running means of the gradient and its square.
func (o LAMB) State(w *nd.Array) []*nd.Array { return zeros(w, 2) }

// Update changes w and state by the gradient.
func (o LAMB) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	first := update.LambUpdatePhase1Params{Beta1: op.Some(o.Beta1.Or(0.9)),
		Beta2:   op.Some(o.Beta2.Or(0.999)),
		Epsilon: op.Some(o.Epsilon.Or(1e-6)), T: s.Count, NoBiasCorrection: o.NoBiasCorrection,
		WD:          s.WD,
		RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}
	second := update.LambUpdatePhase2Params{LR: s.LR, LowerBound: op.Some(bound(o.LowerBound)),
		UpperBound: op.Some(bound(o.UpperBound))}
	nd.Scope(func(sc *nd.Scoped) {
		x := sc.Enter(w)
		step := apply(update.LambUpdatePhase1.Op, first, []*nd.Array{x, g, state[0], state[1]},
			[]*nd.Array{nil})
		apply(update.LambUpdatePhase2.Op, second, []*nd.Array{x, step, s.weightNorm(sc, x),
			norm(step)}, []*nd.Array{w})
	})
}

// bound turns the zero that means none into the -1 that the operators want.
func bound(v float64) float64 {
	if v > 0 {
		return v
	}
	return -1
}
