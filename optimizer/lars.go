package optimizer

import (
	"strings"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
	"gomx/op/update"
)

// LARS is SGD whose learning rate follows, layer by layer, the ratio of the norms of weight and
// gradient (You et al., 2017). Biases and the parameters of normalizations use the plain rate.
type LARS struct {
	LR       float64         `opt:"learning_rate,positive"` // 0: 0.01
	Momentum float64         `opt:"momentum"`
	WD       float64         `opt:"wd"`
	Eta      op.Opt[float64] `opt:"eta"` // unset: 0.001
	Eps      float64         `opt:"eps"`
	// NoMomentumCorrection keeps the momentum unscaled when the learning rate changes.
	NoMomentumCorrection bool `opt:"momentum_correction,not"`
	Common
}

// Name returns lars.
func (LARS) Name() string { return "lars" }

func (LARS) masterLast() {}

// Settings returns the parameters that all optimizers have.
func (o LARS) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// State returns the momentum, nothing without momentum.
func (o LARS) State(w *nd.Array) []*nd.Array { return momentumState(w, o.Momentum) }

// Update changes w and state by the gradient.
func (o LARS) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	// MXNet compares the rate with the rate of the last update of any parameter. If the rate
	// changes from step to step, it corrects the momentum of the first parameter of each step only.
	momentum := o.Momentum
	if last := s.Shared[0]; last != 0 && !o.NoMomentumCorrection {
		momentum *= s.base / last
	}
	s.Shared[0] = s.base
	if endsIn(s.Name, "gamma", "beta", "bias") {
		momentumStep(s, momentum, s.LR, w, g, state)
		return
	}
	nd.Scope(func(sc *nd.Scoped) {
		x, d := sc.Enter(w), sc.Enter(g)
		wn, gn := s.weightNorm(sc, x), scale(norm(d), s.Rescale)
		valid := mul(positive(wn), positive(gn))
		other := plus(scale(valid, -1), 1)
		// other is 1 where the ratio is not used, so that the denominator is not zero.
		ratio := div(scale(wn, o.Eta.Or(0.001)), add(plus(add(gn, scale(wn, s.WD)), o.Eps), other))
		rate := scale(add(mul(valid, ratio), other), s.LR)
		arrayStep(s, sc, momentum, rate, w, g, state)
	})
}

// momentumStep is a step of SGD with the learning rate lr instead of the step's.
func momentumStep(s *Step, momentum, lr float64, w, g *nd.Array, state []*nd.Array) {
	if len(state) == 0 {
		start(s, update.SGDUpdate, update.SGDUpdateParams{LR: lr, WD: s.WD,
			RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}, w, g, nil)
		return
	}
	start(s, update.SGDMomUpdate, update.SGDMomUpdateParams{LR: lr, Momentum: momentum, WD: s.WD,
		RescaleGrad: op.Some(s.Rescale), ClipGradient: op.Some(s.Clip)}, w, g, state)
}

// arrayStep is a step of SGD whose learning rate is an array of shape (1,), so that it need not
// wait for the value.
func arrayStep(s *Step, sc *nd.Scoped, momentum float64, rate, w, g *nd.Array, state []*nd.Array) {
	x := sc.Enter(w)
	d := add(clip(scale(sc.Enter(g), s.Rescale), s.Clip), scale(x, s.WD))
	step := scale(nd.Apply(prim.BroadcastMul, op.NoParams{}, d, rate), -1)
	if len(state) > 0 {
		step = add(scale(sc.Enter(state[0]), momentum), step)
		step.CopyInto(state[0])
	}
	add(x, step).CopyInto(w)
}

// positive is 1 where a is above zero, 0 elsewhere.
func positive(a *nd.Array) *nd.Array {
	return nd.Apply(prim.GreaterScalar, prim.ScalarParams{Scalar: 0}, a)
}

func endsIn(name string, ends ...string) bool {
	for _, e := range ends {
		if strings.HasSuffix(name, e) {
			return true
		}
	}
	return false
}
