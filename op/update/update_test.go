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
		optest.Case{Name: "plain", Params: update.SGDUpdateParams{LR: 0.1}, In: []op.Tensor{w, g}, Want: []op.Tensor{vec(.9, 2.4, -3.05)}},
		optest.Case{Name: "half", Params: update.SGDUpdateParams{LR: 0.1}, In: []op.Tensor{half(w), half(g)}, Want: []op.Tensor{half(vec(.9, 2.4, -3.05))}},
		optest.Case{Name: "all", Params: update.SGDUpdateParams{LR: 0.1, WD: 0.5, RescaleGrad: 2, ClipGradient: 3}, In: []op.Tensor{w, g},
			Want: []op.Tensor{vec(.75, 2.2, -2.95)}},
	)
	optest.Run(t, update.SGDMomUpdate.Op,
		optest.Case{Params: update.SGDMomUpdateParams{LR: 0.1, Momentum: 0.5, WD: 0.5, ClipGradient: 3}, In: []op.Tensor{w, g, vec(1, 0, -1)},
			Want: []op.Tensor{vec(1.35, 2.2, -3.4)}, After: []op.Tensor{w, g, vec(.35, .2, -.4)}})
	optest.Run(t, update.NAGMomUpdate.Op,
		optest.Case{Params: update.NAGMomUpdateParams{LR: 0.1, Momentum: 0.5}, In: []op.Tensor{vec(1), vec(2), vec(3)},
			Want: []op.Tensor{vec(1 + .5*1.3 - .2)}, After: []op.Tensor{{}, {}, vec(1.3)}})
}

func TestMixedPrecisionKeepsExactWeight(t *testing.T) {
	w32 := vec(1, 2)
	g := half(vec(1, -4))
	optest.Run(t, update.MPSGDUpdate.Op,
		optest.Case{Params: update.SGDUpdateParams{LR: 1e-4}, In: []op.Tensor{half(w32), g, w32},
			Want: []op.Tensor{half(vec(.9999, 2.0004))}, After: []op.Tensor{half(w32), g, vec(.9999, 2.0004)}, Tol: optest.Tolerance{Abs: 2e-4}})
	optest.Run(t, update.MPSGDMomUpdate.Op,
		optest.Case{Params: update.SGDMomUpdateParams{LR: .5, Momentum: .5}, In: []op.Tensor{half(w32), g, vec(1, 1), w32},
			Want: []op.Tensor{half(vec(1, 4.5))}, After: []op.Tensor{{}, {}, vec(0, 2.5), vec(1, 4.5)}})
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
		optest.Case{Params: update.AdamUpdateParams{LR: .1, WD: .5, RescaleGrad: 2, ClipGradient: 4},
			In: []op.Tensor{vec(1, 2), vec(1, -4), vec(.5, 0), vec(.25, 0)}, Want: []op.Tensor{vec(w0, w1)},
			After: []op.Tensor{{}, {}, vec(m0, m1), vec(v0, v1)}})
}
