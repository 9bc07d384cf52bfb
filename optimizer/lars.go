package optimizer

import (
	"math"
	"strings"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
	"gomx/op/update"
)

// LARS is SGD whose learning rate follows, layer by layer, the ratio of the norms of weight and
// gradient (You et al., 2017). Biases and the parameters of normalizations keep the plain rate.
type LARS struct {
	LR       float64 `opt:"learning_rate"` // 0: 0.01
	Momentum float64 `opt:"momentum"`
	WD       float64 `opt:"wd"`
	Eta      float64 `opt:"eta"` // 0: 0.001
	Eps      float64 `opt:"eps"`
	// NoMomentumCorrection leaves the momentum alone when the learning rate changes.
	NoMomentumCorrection bool `opt:"momentum_correction,not"`
	Common
}

// LBSGD is SGD for large batches: it sums the gradients of BatchScale updates and warms the
// learning rate up.
type LBSGD struct {
	LR              float64 `opt:"learning_rate"` // 0: 0.01
	Momentum        float64 `opt:"momentum"`
	WD              float64 `opt:"wd"`
	WarmupStrategy  string  `opt:"warmup_strategy"`   // linear (default), power2, sqrt or lars
	WarmupEpochs    int     `opt:"warmup_epochs"`     // 0: 5
	BatchScale      int     `opt:"batch_scale"`       // 0: 1
	UpdatesPerEpoch int     `opt:"updates_per_epoch"` // 0: 32
	BeginEpoch      int     `opt:"begin_epoch"`
	Epochs          int     `opt:"num_epochs"` // not used
	Common
}

// Name returns lars.
func (LARS) Name() string { return "lars" }

// Name returns lbsgd.
func (LBSGD) Name() string { return "lbsgd" }

func (LARS) masterLast()  {}
func (LBSGD) masterLast() {}

// Settings returns the parameters that all optimizers have.
func (o LARS) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o LBSGD) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// State returns the momentum, nothing without momentum.
func (o LARS) State(w *nd.Array) []*nd.Array { return momentumState(w, o.Momentum) }

// State returns the momentum if there is one, then the sum of gradients if batches are scaled.
func (o LBSGD) State(w *nd.Array) []*nd.Array {
	state := momentumState(w, o.Momentum)
	if o.BatchScale > 1 {
		state = append(state, zeros(w, 1)...)
	}
	return state
}

// Update changes w and state by the gradient.
func (o LARS) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	momentum := o.Momentum
	if last := s.Own[0]; last != 0 && !o.NoMomentumCorrection {
		momentum *= s.LR / last
	}
	s.Own[0] = s.LR
	if endsIn(s.Name, "gamma", "beta", "bias") {
		momentumStep(s, momentum, s.LR, w, g, state)
		return
	}
	nd.Scope(func(sc *nd.Scoped) {
		x, d := sc.Enter(w), sc.Enter(g)
		wn, gn := norm(x), scale(norm(d), s.Rescale)
		valid := mul(positive(wn), positive(gn))
		other := plus(scale(valid, -1), 1)
		// other keeps the denominator away from zero where the ratio is not used.
		ratio := div(scale(wn, orDefault(o.Eta, 0.001)), add(plus(add(gn, scale(wn, s.WD)), o.Eps), other))
		rate := scale(add(mul(valid, ratio), other), s.LR)
		arrayStep(s, sc, momentum, rate, w, g, state)
	})
}

// Update changes w and state by the gradient.
func (o LBSGD) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	every := max(o.BatchScale, 1)
	n := o.BeginEpoch*o.perEpoch() + s.Count
	nd.Scope(func(sc *nd.Scoped) {
		if every > 1 {
			sum := state[len(state)-1]
			state = state[:len(state)-1]
			total := add(sc.Enter(sum), sc.Enter(g))
			if n%every != 0 {
				total.CopyInto(sum)
				return
			}
			scale(total, 0).CopyInto(sum)
			g = scale(total, 1/float64(every))
		}
		if o.WarmupStrategy != "lars" {
			momentumStep(s, o.Momentum, s.LR*o.warmup(n), w, g, state)
			return
		}
		w2, g2 := sumSquares(sc.Enter(w)), sumSquares(sc.Enter(g))
		ratio := sqrt(div(w2, plus(add(g2, scale(w2, s.WD)), 1e-18)))
		ratio = nd.Apply(prim.Clip, prim.ClipParams{AMin: 0.01, AMax: 100}, ratio)
		arrayStep(s, sc, o.Momentum, scale(ratio, s.LR), w, g, state)
	})
}

func (o LBSGD) perEpoch() int {
	if o.UpdatesPerEpoch == 0 {
		return 32
	}
	return o.UpdatesPerEpoch
}

// warmup returns the factor of the learning rate after n updates.
func (o LBSGD) warmup(n int) float64 {
	epochs := o.WarmupEpochs
	if epochs == 0 {
		epochs = 5
	}
	last, top := epochs*o.perEpoch(), float64(max(o.BatchScale, 1))
	if n >= last {
		return top
	}
	if last <= 1 {
		return 1
	}
	x := float64(n) / float64(last)
	switch o.WarmupStrategy {
	case "", "linear":
		return 1 + (top-1)*x
	case "power2":
		return 1 + (top-1)*x*x
	case "sqrt":
		return 1 + (top-1)*math.Sqrt(x)
	}
	return 1
}

// momentumStep is a step of SGD with a learning rate of its own.
func momentumStep(s *Step, momentum, lr float64, w, g *nd.Array, state []*nd.Array) {
	if len(state) == 0 {
		start(s, update.SGDUpdate, update.SGDUpdateParams{LR: lr, WD: s.WD,
			RescaleGrad: s.Rescale, ClipGradient: s.Clip}, w, g, nil)
		return
	}
	start(s, update.SGDMomUpdate, update.SGDMomUpdateParams{LR: lr, Momentum: momentum, WD: s.WD,
		RescaleGrad: s.Rescale, ClipGradient: s.Clip}, w, g, state)
}

// arrayStep is a step of SGD whose learning rate is an array of shape (1,), so that nobody waits
// for it.
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
