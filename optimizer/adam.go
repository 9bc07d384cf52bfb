package optimizer

import (
	"math"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/update"
)

// Adam scales steps by running means of the gradient and its square (Kingma and Ba, 2015).
type Adam struct {
	LR      float64         `opt:"learning_rate,positive"` // 0: 0.001
	Beta1   op.Opt[float64] `opt:"beta1"`                  // unset: 0.9
	Beta2   op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	Epsilon op.Opt[float64] `opt:"epsilon"`                // unset: 1e-8
	WD      float64         `opt:"wd"`
	// NoLazyUpdate lets a row_sparse gradient change the rows too that it does not store: they
	// decay and go on by their means. By default they stay as they are, and cost nothing.
	NoLazyUpdate bool `opt:"lazy_update,not"`
	Common
}

// AdamW is Adam with a weight decay that does not pass through the means (Loshchilov and Hutter,
// 2019).
//
// MXNet: AdamW of MXNet 2.
type AdamW struct {
	LR      float64         `opt:"learning_rate,positive"` // 0: 0.001
	Beta1   op.Opt[float64] `opt:"beta1"`                  // unset: 0.9
	Beta2   op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	Epsilon op.Opt[float64] `opt:"epsilon"`                // unset: 1e-6
	// NoBiasCorrection leaves the running means as they are.
	NoBiasCorrection bool    `opt:"correct_bias,not"`
	WD               float64 `opt:"wd"`
	// LazyUpdate leaves the rows alone that a row_sparse gradient does not store. By default they
	// decay and go on by their means.
	LazyUpdate bool `opt:"lazy_update"`
	Common
}

// Adamax is Adam with the maximum norm (section 7.1 of the same paper).
type Adamax struct {
	LR    float64         `opt:"learning_rate,positive"` // 0: 0.002
	Beta1 op.Opt[float64] `opt:"beta1"`                  // unset: 0.9
	Beta2 op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	WD    float64         `opt:"wd"`
	Common
}

// Nadam is Adam with Nesterov's momentum (Dozat, 2016).
type Nadam struct {
	LR            float64         `opt:"learning_rate,positive"` // 0: 0.001
	Beta1         op.Opt[float64] `opt:"beta1"`                  // unset: 0.9
	Beta2         op.Opt[float64] `opt:"beta2"`                  // unset: 0.999
	Epsilon       op.Opt[float64] `opt:"epsilon"`                // unset: 1e-8
	ScheduleDecay op.Opt[float64] `opt:"schedule_decay"`         // unset: 0.004
	WD            float64         `opt:"wd"`
	Common
}

// Name returns adam.
func (Adam) Name() string { return "adam" }

// Name returns adamw.
func (AdamW) Name() string { return "adamw" }

func (Adam) joins()  {}
func (AdamW) joins() {}

// Name returns adamax.
func (Adamax) Name() string { return "adamax" }

// Name returns nadam.
func (Nadam) Name() string { return "nadam" }

// Settings returns the parameters that all optimizers have.
func (o Adam) Settings() Settings { return Settings{orDefault(o.LR, 0.001), o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o AdamW) Settings() Settings { return Settings{orDefault(o.LR, 0.001), o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o Adamax) Settings() Settings { return Settings{orDefault(o.LR, 0.002), o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o Nadam) Settings() Settings { return Settings{orDefault(o.LR, 0.001), o.WD, o.Common} }

// State returns the running means of the gradient and its square.
func (o Adam) State(w *nd.Array) []*nd.Array { return lazyZeros(w, 2, !o.NoLazyUpdate) }

// State returns the running means of the gradient and its square.
func (o AdamW) State(w *nd.Array) []*nd.Array { return lazyZeros(w, 2, o.LazyUpdate) }

// State returns the running mean of the gradient and the largest gradient.
func (o Adamax) State(w *nd.Array) []*nd.Array { return zeros(w, 2) }

// State returns the running means of the gradient and its square.
func (o Nadam) State(w *nd.Array) []*nd.Array { return zeros(w, 2) }

// Update changes w and state by the gradient.
func (o Adam) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	b1, b2 := o.Beta1.Or(0.9), o.Beta2.Or(0.999)
	lr := s.LR * math.Sqrt(bias(b2, s.Count)) / bias(b1, s.Count)
	start(s, update.AdamUpdate, update.AdamUpdateParams{LR: lr, Beta1: op.Some(b1),
		Beta2:   op.Some(b2),
		Epsilon: op.Some(o.Epsilon.Or(1e-8)), WD: s.WD, RescaleGrad: op.Some(s.Rescale),
		ClipGradient: op.Some(s.Clip), NoLazyUpdate: o.NoLazyUpdate}, w, g, state)
}

// Update changes w and state by the gradient.
func (o AdamW) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	b1, b2 := o.Beta1.Or(0.9), o.Beta2.Or(0.999)
	rate := 1.0
	if !o.NoBiasCorrection {
		rate = math.Sqrt(bias(b2, s.Count)) / bias(b1, s.Count)
	}
	start(s, update.AdamWUpdate, update.AdamWUpdateParams{LR: rate, Eta: s.LR, Beta1: op.Some(b1),
		Beta2: op.Some(b2), Epsilon: op.Some(o.Epsilon.Or(1e-6)), WD: s.WD,
		ClipGradient: op.Some(s.Clip), LazyUpdate: o.LazyUpdate}, w, g,
		append(state[:2:2], s.factor.of(s.Rescale, w)))
}

// Update changes w and state by the gradient.
func (o Adamax) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	b1, b2 := o.Beta1.Or(0.9), o.Beta2.Or(0.999)
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), sc.Enter(g)
		m, u := sc.Enter(state[0]), sc.Enter(state[1])
		g = clip(add(scale(g, s.Rescale), scale(x, s.WD)), s.Clip)
		mean := add(scale(m, b1), scale(g, 1-b1))
		top := maximum(scale(u, b2), abs(g))
		mean.CopyInto(state[0])
		top.CopyInto(state[1])
		sub(x, div(scale(mean, s.LR/bias(b1, s.Count)), top)).CopyInto(w)
	})
}

// Update changes w and state by the gradient. The product of the momenta is shared by all
// parameters and grows with every update of any of them, as in MXNet.
func (o Nadam) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	b1, b2 := o.Beta1.Or(0.9), o.Beta2.Or(0.999)
	momentum := func(t int) float64 {
		return b1 * (1 - 0.5*math.Pow(0.96, float64(t)*o.ScheduleDecay.Or(0.004)))
	}
	now, next := momentum(s.Count), momentum(s.Count+1)
	product := &s.Shared[0]
	if begun := &s.Shared[1]; *begun == 0 {
		*product, *begun = 1, 1
	}
	*product *= now
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), sc.Enter(g)
		m, v := sc.Enter(state[0]), sc.Enter(state[1])
		g = clip(add(scale(g, s.Rescale), scale(x, s.WD)), s.Clip)
		mean := add(scale(m, b1), scale(g, 1-b1))
		variance := add(scale(v, b2), mul(scale(g, 1-b2), g))
		mean.CopyInto(state[0])
		variance.CopyInto(state[1])
		bar := add(scale(scale(g, 1/(1-*product)), 1-now), scale(scale(mean, 1/(1-*product*next)),
			next))
		root := plus(sqrt(scale(variance, 1/bias(b2, s.Count))), o.Epsilon.Or(1e-8))
		sub(x, div(scale(bar, s.LR), root)).CopyInto(w)
	})
}

func orDefault(v, d float64) float64 {
	if v == 0 {
		return d
	}
	return v
}
