package optimizer

import (
	nd "gomx/ndarray"
	"gomx/op"
)

// LAMB is Adam whose steps are scaled, layer by layer, by the norm of the weight (You et al.,
// 2020).
type LAMB struct {
	LR         float64         `opt:"learning_rate"` // 0: 0.001
	Beta1      op.Opt[float64] `opt:"beta1"`         // unset: 0.9
	Beta2      op.Opt[float64] `opt:"beta2"`         // unset: 0.999
	Epsilon    float64         `opt:"epsilon"`       // 0: 1e-6
	LowerBound float64         `opt:"lower_bound"`   // of the weight's norm; 0: none
	UpperBound float64         `opt:"upper_bound"`   // of the weight's norm; 0: none
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
	first := s.attrs("wd", s.WD, "beta1", o.Beta1.Or(0.9), "beta2", o.Beta2.Or(0.999),
		"epsilon", orDefault(o.Epsilon, 1e-6), "t", float64(s.Count))
	if o.NoBiasCorrection {
		first["bias_correction"] = "False"
	}
	second := map[string]string{"lr": text(s.LR)}
	if o.LowerBound > 0 {
		second["lower_bound"] = text(o.LowerBound)
	}
	if o.UpperBound > 0 {
		second["upper_bound"] = text(o.UpperBound)
	}
	nd.Scope(func(sc *nd.Scoped) {
		x := sc.Enter(w)
		direction := sc.Own(invokeNamed("lamb_update_phase1", first, []*nd.Array{x, g, state[0], state[1]}, []*nd.Array{nil}))
		invokeNamed("lamb_update_phase2", second, []*nd.Array{x, direction, norm(x), norm(direction)}, []*nd.Array{w})
	})
}
