package optimizer

import (
	"hash/fnv"
	"math"
	"strconv"

	nd "gomx/ndarray"
	"gomx/op"
)

// DCASGD is asynchronous SGD that compensates for delayed gradients (Zheng et al., 2017).
type DCASGD struct {
	LR       float64         `opt:"learning_rate,positive"` // 0: 0.01
	Momentum float64         `opt:"momentum"`
	Lamda    op.Opt[float64] `opt:"lamda"` // factor of the compensation; unset: 0.04
	WD       float64         `opt:"wd"`
	Common
}

// SGLD adds noise to SGD, which makes it sample from the posterior of the parameters (Welling and
// Teh, 2011).
type SGLD struct {
	LR float64 `opt:"learning_rate,positive"` // 0: 0.01
	WD float64 `opt:"wd"`
	// Seed of the noise, which depends on the parameter and its count of updates too.
	Seed int `opt:"seed"`
	Common
}

// Test adds gradients to weights and keeps a copy of the weight as state. It serves tests of
// key-value stores.
type Test struct {
	LR float64 `opt:"learning_rate,positive"` // not used
	WD float64 `opt:"wd"`                     // not used
	Common
}

// Name returns dcasgd.
func (DCASGD) Name() string { return "dcasgd" }

// Name returns sgld.
func (SGLD) Name() string { return "sgld" }

// Name returns test.
func (Test) Name() string { return "test" }

// Settings returns the parameters that all optimizers have.
func (o DCASGD) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o SGLD) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// Settings returns the parameters that all optimizers have.
func (o Test) Settings() Settings { return Settings(o) }

// State returns a copy of the weight, and before it the momentum if Momentum is not 0.
func (o DCASGD) State(w *nd.Array) []*nd.Array {
	return append(momentumState(w, o.Momentum), w.Copy())
}

// State returns nothing.
func (o SGLD) State(*nd.Array) []*nd.Array { return nil }

// State returns an array for the copy of the weight.
func (o Test) State(w *nd.Array) []*nd.Array { return zeros(w, 1) }

// Update changes w and state by the gradient.
func (o DCASGD) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), clip(scale(sc.Enter(g), s.Rescale), s.Clip)
		before := state[len(state)-1]
		drift := mul(scale(mul(g, g), o.Lamda.Or(0.04)), sub(x, sc.Enter(before)))
		step := scale(add(add(g, scale(x, s.WD)), drift), -s.LR)
		if len(state) == 2 {
			step = add(scale(sc.Enter(state[0]), o.Momentum), step)
			step.CopyInto(state[0])
		}
		w.CopyInto(before)
		add(x, step).CopyInto(w)
	})
}

// Update changes w by the gradient and noise.
func (o SGLD) Update(s *Step, w, g *nd.Array, _ []*nd.Array) {
	h := fnv.New64a()
	h.Write([]byte(s.Name + "/" + strconv.Itoa(s.Index) + "/" + strconv.Itoa(s.Count) + "/" +
		strconv.Itoa(o.Seed)))
	nd.Scope(func(sc *nd.Scoped) {
		x, g := sc.Enter(w), clip(scale(sc.Enter(g), s.Rescale), s.Clip)
		noise := sc.Own(nd.Normal(0, math.Sqrt(s.LR), w.Shape(), nd.As(w.DType()),
			nd.On(w.Device()), nd.Using(w.Engine()), nd.Seed(h.Sum64())))
		add(add(x, scale(add(g, scale(x, s.WD)), -s.LR/2)), noise).CopyInto(w)
	})
}

// Update adds the gradient to w and copies w.
func (o Test) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	nd.Scope(func(sc *nd.Scoped) {
		add(sc.Enter(w), scale(sc.Enter(g), s.Rescale)).CopyInto(w)
		w.CopyInto(state[0])
	})
}
