package optimizer

import (
	"math"

	nd "gomx/ndarray"
	"gomx/op"
	"gomx/op/prim"
)

// LBSGD is SGD for large batches: it averages the gradients of BatchScale updates, of which only
// the last changes the weight, and warms the learning rate up to BatchScale times its value. As in
// MXNet the sum of the gradients is not part of the state: a run that another process continues in
// the middle of such a batch loses the sum, unless SetCollected restores it.
type LBSGD struct {
	LR       float64 `opt:"learning_rate,positive"` // 0: 0.01
	Momentum float64 `opt:"momentum"`
	WD       float64 `opt:"wd"`
	// linear (default), power2, sqrt or lars
	WarmupStrategy  string      `opt:"warmup_strategy"`
	WarmupEpochs    op.Opt[int] `opt:"warmup_epochs"`              // unset: 5
	BatchScale      int         `opt:"batch_scale,positive"`       // 0: 1
	UpdatesPerEpoch int         `opt:"updates_per_epoch,positive"` // 0: 32
	// epochs already trained, for the warm-up
	BeginEpoch int `opt:"begin_epoch"`
	Epochs     int `opt:"num_epochs"` // not used
	Common
}

// Name returns lbsgd.
func (LBSGD) Name() string { return "lbsgd" }

func (LBSGD) rateFirst() {}

// Settings returns the parameters that all optimizers have.
func (o LBSGD) Settings() Settings { return Settings{o.LR, o.WD, o.Common} }

// State returns the momentum, nothing without momentum.
func (o LBSGD) State(w *nd.Array) []*nd.Array { return momentumState(w, o.Momentum) }

// Update adds g to the gradients of a batch. After the last one it changes w and state by their
// mean.
func (o LBSGD) Update(s *Step, w, g *nd.Array, state []*nd.Array) {
	// Own[0] counts the updates of this run. s.Count would include BeginUpdate, which MXNet's
	// warm-up ignores.
	s.Own[0]++
	n := o.BeginEpoch*o.perEpoch() + int(s.Own[0])
	nd.Scope(func(sc *nd.Scoped) {
		if g = o.collect(s, sc, n, g); g == nil {
			return
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

// collect adds g, the gradient of update n, to the sum of its batch. It returns the mean when the
// batch is complete, nil before.
func (o LBSGD) collect(s *Step, sc *nd.Scoped, n int, g *nd.Array) *nd.Array {
	every := max(o.BatchScale, 1)
	if every == 1 {
		return g
	}
	total := sc.Enter(g)
	if s.collecting {
		total = add(sc.Enter(s.sum), total)
	}
	if s.collecting = n%every != 0; !s.collecting {
		return nd.Apply(prim.DivScalar, prim.ScalarParams{Scalar: float64(every)}, total)
	}
	if s.sum == nil {
		s.sum = zeros(g, 1)[0]
	}
	total.CopyInto(s.sum)
	return nil
}

func (o LBSGD) perEpoch() int {
	if o.UpdatesPerEpoch == 0 {
		return 32
	}
	return o.UpdatesPerEpoch
}

// warmup returns the factor of the learning rate after n updates.
func (o LBSGD) warmup(n int) float64 {
	last, top := o.WarmupEpochs.Or(5)*o.perEpoch(), float64(max(o.BatchScale, 1))
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
