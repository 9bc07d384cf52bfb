package update_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/update"
)

// vec returns a float32 vector.
func vec(v ...float32) op.Tensor { return op.TensorOf(v) }

// half converts an operand to float16.
func half(t op.Tensor) op.Tensor {
	h := optest.New(dtype.Float16, t.Shape...)
	loop.Store(h, 0, loop.Floats(t))
	return h
}

func TestSGD(t *testing.T) {
	w, g := vec(1, 2, -3), vec(1, -4, 0.5)
	optest.Run(t, update.SGDUpdate.Op,
		optest.Case{Name: "plain", Params: update.SGDUpdateParams{LR: 0.1}, In: []op.Tensor{w, g},
			Want: []op.Tensor{vec(.9, 2.4, -3.05)}},
		optest.Case{Name: "half", Params: update.SGDUpdateParams{LR: 0.1}, In: []op.Tensor{half(w),
			half(g)}, Want: []op.Tensor{half(vec(.9, 2.4, -3.05))}},
		optest.Case{Name: "all", Params: update.SGDUpdateParams{LR: 0.1, WD: 0.5,
			RescaleGrad: op.Some(2.0), ClipGradient: op.Some(3.0)}, In: []op.Tensor{w, g},
			Want: []op.Tensor{vec(.75, 2.2, -2.95)}},
	)
	optest.Run(t, update.SGDMomUpdate.Op,
		optest.Case{Params: update.SGDMomUpdateParams{LR: 0.1, Momentum: 0.5, WD: 0.5,
			ClipGradient: op.Some(3.0)}, In: []op.Tensor{w, g, vec(1, 0, -1)},
			Want: []op.Tensor{vec(1.35, 2.2, -3.4)}, After: []op.Tensor{w, g, vec(.35, .2, -.4)}})
	optest.Run(t, update.NAGMomUpdate.Op,
		optest.Case{Params: update.NAGMomUpdateParams{LR: 0.1, Momentum: 0.5},
			In:   []op.Tensor{vec(1), vec(2), vec(3)},
			Want: []op.Tensor{vec(1 + .5*1.3 - .2)}, After: []op.Tensor{{}, {}, vec(1.3)}})
}

func TestMixedPrecisionKeepsExactWeight(t *testing.T) {
	w32 := vec(1, 2)
	g := half(vec(1, -4))
	optest.Run(t, update.MPSGDUpdate.Op,
		optest.Case{Params: update.SGDUpdateParams{LR: 1e-4}, In: []op.Tensor{half(w32), g, w32},
			Want: []op.Tensor{half(vec(.9999, 2.0004))}, After: []op.Tensor{half(w32), g,
				vec(.9999, 2.0004)}, Tol: optest.Tolerance{Abs: 2e-4}})
	optest.Run(t, update.MPSGDMomUpdate.Op,
		optest.Case{Params: update.SGDMomUpdateParams{LR: .5, Momentum: .5},
			In:   []op.Tensor{half(w32), g, vec(1, 1), w32},
			Want: []op.Tensor{half(vec(1, 4.5))}, After: []op.Tensor{{}, {}, vec(0, 2.5),
				vec(1, 4.5)}})
}

func TestAdam(t *testing.T) {
	step := func(w, g, m, v float64) (nw, nm, nv float32) {
		g = math.Min(math.Max(2*g+.5*w, -4), 4)
		m, v = .9*m+.1*g, .999*v+.001*g*g
		return float32(w - .1*m/(math.Sqrt(v)+1e-8)), float32(m), float32(v)
	}
	w0, m0, v0 := step(1, 1, .5, .25)
	w1, m1, v1 := step(2, -4, 0, 0)
	optest.Run(t, update.AdamUpdate.Op,
		optest.Case{Params: update.AdamUpdateParams{LR: .1, WD: .5, RescaleGrad: op.Some(2.0),
			ClipGradient: op.Some(4.0)},
			In:    []op.Tensor{vec(1, 2), vec(1, -4), vec(.5, 0), vec(.25, 0)},
			Want:  []op.Tensor{vec(w0, w1)},
			After: []op.Tensor{{}, {}, vec(m0, m1), vec(v0, v1)}})
}

// The values of the remaining rules are those of MXNet.
func TestOtherRules(t *testing.T) {
	w, g := vec(1, 2), vec(.5, -1)
	root := func(v float64) float32 { return float32(math.Sqrt(v)) }
	optest.Run(t, update.SignSGDUpdate.Op, optest.Case{Params: update.SignSGDUpdateParams{LR: .1,
		WD: .5}, In: []op.Tensor{w, g}, Want: []op.Tensor{vec(.85, 2)}})
	optest.Run(t, update.SignumUpdate.Op, optest.Case{Params: update.SignumUpdateParams{LR: .1,
		Momentum: .5, WDLH: .5},
		In: []op.Tensor{w, g, vec(0, 0)}, Want: []op.Tensor{vec(.85, 2)}, After: []op.Tensor{{}, {},
			vec(-.25, .5)}})
	optest.Run(t, update.RMSPropUpdate.Op, optest.Case{Params: update.RMSPropUpdateParams{LR: .1,
		Gamma1: op.Some(.5), ClipWeights: op.Some(1.5)},
		In: []op.Tensor{w, g, vec(0, 1)}, Want: []op.Tensor{vec(1-.05/root(.125), 1.5)},
		After: []op.Tensor{{}, {}, vec(.125, 1)}})
	optest.Run(t, update.RMSPropAlexUpdate.Op,
		optest.Case{Params: update.RMSPropAlexUpdateParams{LR: .1, Gamma1: op.Some(.5),
			Gamma2: op.Some(.5)},
			In:   []op.Tensor{w, g, vec(0, 1), vec(0, 0), vec(0, 1)},
			Want: []op.Tensor{vec(1-.05/root(.0625), 2+.5+.1/root(.75))}, After: []op.Tensor{{}, {},
				vec(.125, 1), vec(.25, -.5)}})
	optest.Run(t, update.FtrlUpdate.Op, optest.Case{Params: update.FtrlUpdateParams{LR: .5,
		Lamda1: op.Some(.1)},
		In:   []op.Tensor{vec(1, 2, 1), vec(.5, -1, .1), vec(0, 0, .1), vec(0, 0, 0)},
		Want: []op.Tensor{vec(.4/3, 4.9/4, 0)}, After: []op.Tensor{{}, {}, vec(-.5, -5, 0),
			vec(.25, 1, .01)}})
	optest.Run(t, update.FTMLUpdate.Op, optest.Case{Params: update.FTMLUpdateParams{LR: .1,
		Beta2: op.Some(.9), T: 3, WD: .1},
		In:   []op.Tensor{w, g, vec(.5, .25), vec(1, 2), vec(-1, 1)},
		Want: []op.Tensor{vec(1.0041180, 1.9717920)}, After: []op.Tensor{{}, {},
			vec(14.570326, 20.561476), vec(.936, 1.864), vec(-14.630325, -40.542953)}})
	optest.Run(t, update.AdagradUpdate.Op, optest.Case{Params: update.AdagradUpdateParams{LR: .1,
		Epsilon: op.Some(.3)},
		In:    []op.Tensor{vec(1, 2, 3, 4), vec(.5, -1, 2, .1), vec(.1, .2, .3, .4)},
		Want:  []op.Tensor{vec(.93798263, 2.08164966, 2.90674952, 3.98813218)},
		After: []op.Tensor{{}, {}, vec(.35, 1.2, 4.3, .41)}})
	optest.Run(t, update.GroupAdagradUpdate.Op,
		optest.Case{Params: update.GroupAdagradUpdateParams{LR: .1, Epsilon: op.Some(.3)},
			In: []op.Tensor{op.TensorOf([]float32{1, 2, 3, 4}, 2, 2),
				op.TensorOf([]float32{.5, -1, 2, .1}, 2, 2), op.TensorOf([]float32{.1, .3}, 2, 1)},
			Want: []op.Tensor{op.TensorOf([]float32{.95061352, 2.09877296, 2.87608436, 3.99380422},
				2, 2)}, After: []op.Tensor{{}, {}, op.TensorOf([]float32{.725, 2.305}, 2, 1)}})
}

func TestMeasures(t *testing.T) {
	inf := float32(math.Inf(1))
	optest.Run(t, update.AllFinite.Op,
		optest.Case{Name: "yes", In: []op.Tensor{vec(1, 2)}, Want: []op.Tensor{vec(1)}},
		optest.Case{Name: "no", In: []op.Tensor{vec(1, inf)}, Want: []op.Tensor{vec(0)}})
	optest.Run(t, update.MultiAllFinite.Op,
		optest.Case{In: []op.Tensor{vec(1, 2), vec(float32(math.NaN()))},
			Want: []op.Tensor{vec(0)}})
	optest.Run(t, update.MultiSumSq.Op, optest.Case{In: []op.Tensor{vec(1, 2),
		op.TensorOf([]float32{3, 4}, 1, 2)}, Want: []op.Tensor{vec(5, 25)}},
		optest.Case{Name: "sizes", In: []op.Tensor{optest.Random(3, -1, 1, 70, 300),
			optest.Random(4, -1, 1, 1), optest.Random(5, -1, 1, 3, 1, 17)}})
	optest.Run(t, update.MultiLars.Op, optest.Case{Params: update.MultiLarsParams{Eta: .5, Eps: .1,
		RescaleGrad: op.Some(2.0)},
		In:   []op.Tensor{vec(.1, .2, .3), vec(4, 9, 0), vec(1, 4, 5), vec(.01, .02, .03)},
		Want: []op.Tensor{vec(.04716982, .07211539, .3)}})
}

// The values are those of MXNet, except that MXNet leaves the master weight as it was.
func TestLamb(t *testing.T) {
	type P1 = update.LambUpdatePhase1Params
	type P2 = update.LambUpdatePhase2Params
	w, g, mean, variance := vec(1, 2), vec(.5, -1), vec(.5, .25), vec(1, 2)
	first, moments := vec(.22942290, .21247864), []op.Tensor{{}, {}, vec(.55, .075),
		vec(1, 2.00025)}
	clipped := P1{T: 2, WD: .1, RescaleGrad: op.Some(2.0), ClipGradient: op.Some(1.5)}
	optest.Run(t, update.LambUpdatePhase1.Op,
		optest.Case{Name: "corrected", Params: clipped, In: []op.Tensor{w, g, mean, variance},
			Want: []op.Tensor{first}, After: moments},
		optest.Case{Name: "plain", Params: P1{T: 2, WD: .1, NoBiasCorrection: true},
			In: []op.Tensor{w, g, mean, variance}, Want: []op.Tensor{vec(.60018712, .28841037)}})
	optest.Run(t, update.MPLambUpdatePhase1.Op,
		optest.Case{Params: clipped, In: []op.Tensor{half(w), half(g), mean, variance, w},
			Want: []op.Tensor{first}, After: moments})
	optest.Run(t, update.LambUpdatePhase2.Op,
		optest.Case{Name: "bound", Params: P2{LR: .1, UpperBound: op.Some(2.5)},
			In: []op.Tensor{w, g, vec(3), vec(2)}, Want: []op.Tensor{vec(.9375, 2.125)}},
		optest.Case{Name: "no direction", Params: P2{LR: .1}, In: []op.Tensor{w, g, vec(3), vec(0)},
			Want: []op.Tensor{vec(.95, 2.1)}})
	optest.Run(t, update.MPLambUpdatePhase2.Op,
		optest.Case{Params: P2{LR: .1}, In: []op.Tensor{half(w), g, vec(3), vec(0), w},
			Want: []op.Tensor{half(vec(.95, 2.1))}, After: []op.Tensor{{}, {}, {}, {},
				vec(.95, 2.1)}})
}
