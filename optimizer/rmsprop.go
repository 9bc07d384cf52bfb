package optimizer

import (
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// RMSProp divides steps by the root of a running mean of squared gradients (Tieleman and Hinton,
// 2012), optionally centred (Graves, 2013).
type RMSProp struct {
	LR float64 `opt:"learning_rate,positive"` // 0: 0.001
	// decay of the running means; unset: 0.9
	Gamma1      op.Opt[float64] `opt:"gamma1"`
	Gamma2      op.Opt[float64] `opt:"gamma2"`  // momentum, when centred; unset: 0.9
	Epsilon     op.Opt[float64] `opt:"epsilon"` // unset: 1e-8
	Centered    bool            `opt:"centered"`
	ClipWeights float64         `opt:"clip_weights"` // limit of the weights' elements; 0: none
	WD          float64         `opt:"wd"`
	Common
}

// Ftrl follows the regularized leader (McMahan et al., 2013). As in MXNet a schedule uses its own
// base rate.
type Ftrl struct {
	LR     float64         `opt:"learning_rate,positive"` // 0: 0.1; not used with a schedule
	Lamda1 op.Opt[float64] `opt:"lamda1"`                 // L1 regularization; unset: 0.01
	Beta   op.Opt[float64] `opt:"beta"`                   // unset: 1
	WD     float64         `opt:"wd"`
	Common
}

// FTML follows the moving leader (Zheng and Kwok, 2017).
type FTML struct {
	LR      float64         `opt:"learning_rate,positive"` // 0: 0.01
	Beta1   op.Opt[float64] `opt:"beta1"`                  // unset: 0.6
	Beta2   op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	Epsilon op.Opt[float64] `opt:"epsilon"`                // unset: 1e-8
	WD      float64         `opt:"wd"`
	Common
}

// Name returns rmsprop.
func (RMSProp) Name() string { return "rmsprop" }

// Name returns ftrl.
func (Ftrl) Name() string { return "ftrl" }

// Name returns ftml.
func (FTML) Name() string { return "ftml" }

// Settings returns the parameters that all optimizers have.
func (o RMSProp) Settings() Settings { return Settings{orDefault(o.LR, 0.001), o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o Ftrl) Settings() Settings {
	if o.Schedule != nil {
		return Settings{0, o.WD, o.Common}
	}
	return Settings{orDefault(o.LR, 0.1), o.WD, o.Common}
}

// Settings returns the parameters that all optimizers have.
func (o FTML) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

func (RMSProp) joins() {}
func (Ftrl) joins()    {}
func (FTML) joins()    {}

// State returns the running mean of squared gradients; when centred also the running mean of
// gradients, and the last step.
func (o RMSProp) State(w *nd.Array) []*nd.Array {
	if o.Centered {
		return zeros(w, 3)
	}
	return zeros(w, 1)
}

// State returns z and n of the paper.
func (o Ftrl) State(w *nd.Array) []*nd.Array { return zerosLike(w, 2) }

// State returns d, v and z of the paper.
func (o FTML) State(w *nd.Array) []*nd.Array { return zeros(w, 3) }

// Update changes w and state by the gradient.
func (o RMSProp) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	limit, gamma1, eps := -1.0, op.Some(o.Gamma1.Or(0.9)), op.Some(o.Epsilon.Or(1e-8))
	if o.ClipWeights > 0 {
		limit = o.ClipWeights
	}
	if !o.Centered {
		start(s, update.RMSPropUpdate, update.RMSPropUpdateParams{LR: s.LR, Gamma1: gamma1,
			Epsilon: eps, WD: s.WD,
			RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip),
			ClipWeights: op.Some(limit)}, w, g, state)
		return
	}
	start(s, update.RMSPropAlexUpdate, update.RMSPropAlexUpdateParams{LR: s.LR, Gamma1: gamma1,
		Gamma2:  op.Some(o.Gamma2.Or(0.9)),
		Epsilon: eps, WD: s.WD, RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip),
		ClipWeights: op.Some(limit)}, w, g, state)
}

// Update changes w and state by the gradient.
func (o Ftrl) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	start(s, update.FtrlUpdate, update.FtrlUpdateParams{LR: s.LR,
		Lamda1: op.Some(o.Lamda1.Or(0.01)), Beta: op.Some(o.Beta.Or(1)),
		WD: s.WD, RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}, w, g, state)
}

// Update changes w and state by the gradient.
func (o FTML) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	start(s, update.FTMLUpdate, update.FTMLUpdateParams{LR: s.LR, Beta1: op.Some(o.Beta1.Or(0.6)),
		Beta2:   op.Some(o.Beta2.Or(0.999)),
		Epsilon: op.Some(o.Epsilon.Or(1e-8)), T: s.Count, WD: s.WD, RescaleGrad: op.Some(s.Rescale),
		ClipGrad: op.Some(s.Clip)}, w, g, state)
}
