package optimizer

import (
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// SGD is stochastic gradient descent, with momentum unless Momentum is 0.
type SGD struct {
	LR       float64 `opt:"learning_rate,positive"` // 0: 0.01
	Momentum float64 `opt:"momentum"`
	WD       float64 `opt:"wd"`
	// NoLazyUpdate lets a row_sparse gradient change the rows too that it does not store: they
	// decay and go on by their momentum. By default they stay as they are, and cost nothing.
	NoLazyUpdate bool `opt:"lazy_update,not"`
	Common
}

// NAG is stochastic gradient descent with Nesterov's momentum.
type NAG struct {
	LR       float64 `opt:"learning_rate,positive"` // 0: 0.01
	Momentum float64 `opt:"momentum"`
	WD       float64 `opt:"wd"`
	Common
}

// Signum steps by the sign of the gradient, or of its momentum (Bernstein et al., 2018).
type Signum struct {
	LR       float64         `opt:"learning_rate,positive"` // 0: 0.01
	Momentum op.Opt[float64] `opt:"momentum"`               // unset: 0.9
	WD       float64         `opt:"wd"`
	WDLH     float64         `opt:"wd_lh"` // weight decay that shrinks weights directly
	Common
}

// Name returns sgd.
func (SGD) Name() string { return "sgd" }

// Name returns nag.
func (NAG) Name() string { return "nag" }

// Name returns signum.
func (Signum) Name() string { return "signum" }

func (SGD) joins()    {}
func (NAG) joins()    {}
func (Signum) joins() {}

func (SGD) masterLast() {}
func (NAG) masterLast() {}

// Settings returns the parameters that all optimizers have.
func (o SGD) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o NAG) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o Signum) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// State returns the momentum, nothing without momentum.
func (o SGD) State(w *nd.Array) []*nd.Array {
	if o.Momentum == 0 {
		return nil
	}
	return lazyZeros(w, 1, !o.NoLazyUpdate)
}

// State returns the momentum, nothing without momentum.
func (o NAG) State(w *nd.Array) []*nd.Array { return momentumState(w, o.Momentum) }

// State returns the momentum, nothing without momentum.
func (o Signum) State(w *nd.Array) []*nd.Array { return momentumState(w, o.Momentum.Or(0.9)) }

func momentumState(w *nd.Array, momentum float64) []*nd.Array {
	if momentum == 0 {
		return nil
	}
	return zeros(w, 1)
}

// Update changes w and state by the gradient.
func (o SGD) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	if len(state) == 0 {
		plainStep(s, w, g, o.NoLazyUpdate)
		return
	}
	start(s, update.SGDMomUpdate, update.SGDMomUpdateParams{LR: s.LR, Momentum: o.Momentum,
		WD: s.WD, RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip),
		NoLazyUpdate: o.NoLazyUpdate}, w, g, state)
}

// Update changes w and state by the gradient.
func (o NAG) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	if len(state) == 0 {
		plainStep(s, w, g, false)
		return
	}
	p := update.NAGMomUpdateParams{LR: s.LR, Momentum: o.Momentum, WD: s.WD,
		RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}
	if s.WD == 0 {
		start(s, update.NAGMomUpdate, p, w, g, state)
		return
	}
	// MXNet updates the weight in place and then adds the decay of the new weight, not of the old
	// one, to the momentum. The momentum is corrected, so that runs continue MXNet's exactly.
	s.last.bulk = nil
	nd.Scope(func(sc *nd.Scoped) {
		old := sc.Own(w.Copy())
		start(s, update.NAGMomUpdate, p, w, g, state)
		add(sc.Enter(state[0]), scale(sub(old, w), s.LR*s.WD)).CopyInto(state[0])
	})
}

// plainStep is a step without momentum.
func plainStep(s *Step, w, g *nd.Array, notLazy bool) {
	start(s, update.SGDUpdate, update.SGDUpdateParams{LR: s.LR, WD: s.WD,
		RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip), NoLazyUpdate: notLazy}, w,
		g, nil)
}

// Update changes w and state by the gradient.
func (o Signum) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	if len(state) == 0 {
		start(s, update.SignSGDUpdate, update.SignSGDUpdateParams{LR: s.LR, WD: s.WD,
			RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}, w, g, nil)
		return
	}
	start(s, update.SignumUpdate, update.SignumUpdateParams{LR: s.LR, Momentum: o.Momentum.Or(0.9),
		WD:          s.WD,
		RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip), WDLH: o.WDLH}, w, g, state)
}
