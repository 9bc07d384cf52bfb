package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

// TestValuesAtPolesAndNaN holds results that MXNet 1.9.1 gives at NaN, infinities and poles, on
// every tier.
func TestValuesAtPolesAndNaN(t *testing.T) {
	inf, zero := math.Inf(1), math.Copysign(0, -1)
	for _, c := range []struct {
		op        *op.Op
		params    any
		in, y, dx []float64
	}{
		{prim.Relu.Op, nil, []float64{nan, inf, -inf, 0, zero, 2}, []float64{nan, inf, 0, 0, 0, 2},
			[]float64{nan, 1, 0, 0, 0, 1}},
		{prim.Clip.Op, prim.ClipParams{AMin: -1, AMax: 1}, []float64{nan, -inf, -1, 1, inf},
			[]float64{nan, -1, -1, 1, 1}, []float64{1, 0, 1, 1, 0}},
		{prim.Gamma.Op, nil, []float64{nan, inf, -inf, 0, zero, -1, -2}, []float64{nan, inf, nan,
			inf, -inf, nan, nan},
			[]float64{nan, inf, nan, inf, -inf, nan, nan}},
		{prim.Gammaln.Op, nil, []float64{nan, inf, -inf, 0, zero, -1, -2}, []float64{nan, inf, inf,
			inf, inf, inf, inf},
			[]float64{nan, inf, inf, inf, inf, inf, inf}},
		{prim.HypotScalar.Op, prim.ScalarParams{Scalar: nan}, []float64{inf, -inf, 1},
			[]float64{inf, inf, nan}, nil},
	} {
		want := optest.Case{Params: c.params, In: optest.Ops(optest.F([]int{len(c.in)}, c.in...)),
			Want: optest.Ops(optest.F([]int{len(c.in)}, c.y...)), NoDiff: true}
		if c.dx != nil {
			ones := make([]float64, len(c.in))
			for i := range ones {
				ones[i] = 1
			}
			want.Heads, want.WantGrad = optest.Ops(optest.F([]int{len(c.in)}, ones...)),
				optest.Ops(optest.F([]int{len(c.in)}, c.dx...))
		}
		optest.Run(t, c.op, want)
	}
	for _, o := range []*op.Op{prim.Hypot.Op, prim.BroadcastHypot.Op} {
		optest.Run(t, o, optest.Case{NoDiff: true, In: optest.Ops(optest.F([]int{3}, inf, nan, 3),
			optest.F([]int{3}, nan, -inf, 4)),
			Want: optest.Ops(optest.F([]int{3}, inf, inf, 5))})
	}
}

// TestDigammaAtItsPoles: in float64 the value is finite, as MXNet's.
func TestDigammaAtItsPoles(t *testing.T) {
	for _, x := range []float64{0, -1, -2, math.Inf(-1)} {
		if got := prim.Psi(x); got != math.MaxFloat64 {
			t.Errorf("Psi(%v) is %v, want the largest number", x, got)
		}
	}
}

// TestScalarZeroOfAFile: a zero that a file spells is a positive one.
func TestScalarZeroOfAFile(t *testing.T) {
	inf := math.Inf(1)
	for _, typ := range []dtype.Type{dtype.Float32, dtype.Float64} {
		optest.Run(t, prim.DivScalar.Op, optest.Case{Attrs: map[string]string{"scalar": "0"},
			NoDiff: true,
			In:     optest.Ops(optest.Array(typ, []int{2}, 1, -1)),
			Want:   optest.Ops(optest.Array(typ, []int{2}, inf, -inf))})
		optest.Run(t, prim.RPowerScalar.Op, optest.Case{Attrs: map[string]string{"scalar": "0"},
			NoDiff: true,
			In:     optest.Ops(optest.Array(typ, []int{1}, -1)),
			Want:   optest.Ops(optest.Array(typ, []int{1}, inf))})
	}
}
