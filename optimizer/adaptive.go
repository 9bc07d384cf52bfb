package optimizer

import (
	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// AdaGrad divides steps by the root of the sum of squared gradients (Duchi et al., 2011).
type AdaGrad struct {
	LR  float64         `opt:"learning_rate,positive"` // 0: 0.01
	Eps op.Opt[float64] `opt:"eps"`                    // unset: 1e-7
	WD  float64         `opt:"wd"`
	Common
}

// GroupAdaGrad is AdaGrad with one sum for each row of a weight with two axes, for embeddings. It
// has no weight decay.
type GroupAdaGrad struct {
	LR  float64         `opt:"learning_rate,positive"` // 0: 0.01
	Eps op.Opt[float64] `opt:"eps"`                    // unset: 1e-5
	Common
}

// AdaDelta chooses the size of steps by running means (Zeiler, 2012). It has no learning rate.
type AdaDelta struct {
	Rho     op.Opt[float64] `opt:"rho"`     // unset: 0.9
	Epsilon op.Opt[float64] `opt:"epsilon"` // unset: 1e-5
	WD      float64         `opt:"wd"`
	LR      float64         `opt:"learning_rate,positive"` // not used
	Common
}

// Name returns adagrad.
func (AdaGrad) Name() string { return "adagrad" }

// Name returns groupadagrad.
func (GroupAdaGrad) Name() string { return "groupadagrad" }

// Name returns adadelta.
func (AdaDelta) Name() string { return "adadelta" }

// Settings returns the parameters that all optimizers have.
func (o AdaGrad) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o GroupAdaGrad) Settings() Settings { return Settings{LR: o.LR, Common: o.Common} }

// Settings returns the parameters that all optimizers have.
func (o AdaDelta) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// State returns the sum of squared gradients.
func (o AdaGrad) State(w *nd.Array) []*nd.Array { return zerosLike(w, 1) }

// State returns the sums of squared gradients of the rows, of shape (rows, 1).
func (o GroupAdaGrad) State(w *nd.Array) []*nd.Array {
	shape := w.Shape()
	if len(shape) != 2 {
		panic(op.Errorf("weight", "shape %v, want two axes", shape))
	}
	return []*nd.Array{nd.ZerosOf(w.Storage(), nd.Shape{shape[0], 1}, nd.As(w.DType()),
		nd.On(w.Device()), nd.Using(w.Engine()))}
}

// State returns the running means of squared gradients and of squared steps.
func (o AdaDelta) State(w *nd.Array) []*nd.Array { return zeros(w, 2) }

// Update changes w and state by the gradient: of a row_sparse gradient the rows that it stores.
func (o AdaGrad) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	if g.Storage() == nd.RowSparse {
		start(s, update.AdagradUpdate, update.AdagradUpdateParams{LR: s.LR, WD: s.WD,
			Epsilon: op.Some(o.Eps.Or(1e-7)), RescaleGrad: op.Some(s.Rescale),
			ClipGradient: op.Some(s.Clip)}, w, g, state)
		return
	}
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), clip(scale(sc.Enter(g), s.Rescale), s.Clip)
		sum := add(sc.Enter(state[0]), square(g))
		sum.CopyInto(state[0])
		step := div(g, sqrt(plus(sum, o.Eps.Or(1e-7))))
		add(x, scale(add(step, scale(x, s.WD)), -s.LR)).CopyInto(w)
	})
}

// Update changes w and state by the gradient: of a row_sparse gradient the rows that it stores.
func (o GroupAdaGrad) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	start(s, update.GroupAdagradUpdate, update.GroupAdagradUpdateParams{LR: s.LR,
		Epsilon: op.Some(o.Eps.Or(1e-5)), RescaleGrad: op.Some(s.Rescale),
		ClipGradient: op.Some(s.Clip)}, w, g, state)
}

// Update changes w and state by the gradient.
func (o AdaDelta) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	rho, eps := o.Rho.Or(0.9), o.Epsilon.Or(1e-5)
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), clip(scale(sc.Enter(g), s.Rescale), s.Clip)
		delta := sc.Enter(state[1])
		mean := add(scale(sc.Enter(state[0]), rho), mul(scale(g, 1-rho), g))
		step := mul(div(sqrt(plus(delta, eps)), sqrt(plus(mean, eps))), g)
		mean.CopyInto(state[0])
		add(scale(delta, rho), mul(scale(step, 1-rho), step)).CopyInto(state[1])
		sub(x, add(step, scale(x, s.WD))).CopyInto(w)
	})
}
