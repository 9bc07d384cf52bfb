package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestScalar(t *testing.T) {
	x := []float64{0.5, 2.5, 4}
	tests := []struct {
		op op.Handle[prim.ScalarParams]
		s  float64
		y  []float64
	}{
		{prim.PlusScalar, 2, []float64{2.5, 4.5, 6}},
		{prim.MinusScalar, 2, []float64{-1.5, 0.5, 2}},
		{prim.RMinusScalar, 2, []float64{1.5, -0.5, -2}},
		{prim.MulScalar, 2, []float64{1, 5, 8}},
		{prim.DivScalar, 2, []float64{0.25, 1.25, 2}},
		{prim.RDivScalar, 2, []float64{4, 0.8, 0.5}},
		{prim.ModScalar, 1.5, []float64{0.5, 1, 1}},
		{prim.RModScalar, 3, []float64{0, 0.5, 3}},
		{prim.PowerScalar, 2, []float64{0.25, 6.25, 16}},
		{prim.PowerScalar, -0.5, []float64{math.Sqrt2, 0.6324555, 0.5}},
		{prim.RPowerScalar, 2, []float64{math.Sqrt2, 5.656854, 16}},
		{prim.HypotScalar, 3, []float64{3.041381, 3.905125, 5}},
		{prim.MaximumScalar, 3, []float64{3, 3, 4}},
		{prim.MinimumScalar, 3, []float64{0.5, 2.5, 3}},
		{prim.EqualScalar, 2.5, []float64{0, 1, 0}},
		{prim.NotEqualScalar, 2.5, []float64{1, 0, 1}},
		{prim.GreaterScalar, 2.5, []float64{0, 0, 1}},
		{prim.GreaterEqualScalar, 2.5, []float64{0, 1, 1}},
		{prim.LesserScalar, 2.5, []float64{1, 0, 0}},
		{prim.LesserEqualScalar, 2.5, []float64{1, 1, 0}},
		{prim.LogicalAndScalar, 0, []float64{0, 0, 0}},
		{prim.LogicalOrScalar, 0, []float64{1, 1, 1}},
		{prim.LogicalXorScalar, 2, []float64{0, 0, 0}},
	}
	jumps := map[string]bool{"_rmod_scalar": true, "_equal_scalar": true, "_not_equal_scalar": true,
		"_greater_scalar":       true,
		"_greater_equal_scalar": true, "_lesser_scalar": true, "_lesser_equal_scalar": true}
	for _, tt := range tests {
		optest.Run(t, tt.op.Op, optest.Case{Params: prim.ScalarParams{Scalar: tt.s},
			NoDiff: jumps[tt.op.Name],
			In:     optest.Ops(optest.F([]int{3}, x...)),
			Want:   optest.Ops(optest.F([]int{3}, tt.y...))})
	}
}

func TestScalarTypes(t *testing.T) {
	tests := []struct {
		name    string
		op      op.Handle[prim.ScalarParams]
		s       float64
		x, want op.Tensor
	}{
		{"the number is cut off", prim.PlusScalar, 1.5, optest.Array(dtype.Int32, []int{3}, 1, -2,
			7), optest.Array(dtype.Int32, []int{3}, 2, -1, 8)},
		{"division cuts off", prim.DivScalar, 2, optest.Array(dtype.Int32, []int{3}, 1, -2, 7),
			optest.Array(dtype.Int32, []int{3}, 0, -1, 3)},
		{"division by an array", prim.RDivScalar, 2, optest.Array(dtype.Int32, []int{3}, 1, -2, 0),
			optest.Array(dtype.Int32, []int{3}, 2, -1, 0)},
		{"bytes wrap", prim.PlusScalar, 10, optest.Array(dtype.Uint8, []int{2}, 250, 2),
			optest.Array(dtype.Uint8, []int{2}, 4, 12)},
		{"booleans become int64", prim.PlusScalar, 1, optest.Array(dtype.Bool, []int{2}, 0, 1),
			optest.Array(dtype.Int64, []int{2}, 1, 2)},
		{"the number is rounded to the type", prim.EqualScalar, 0.1, optest.F([]int{1}, 0.1),
			optest.F([]int{1}, 1)},
	}
	for _, tt := range tests {
		optest.Run(t, tt.op.Op, optest.Case{Name: tt.name, Params: prim.ScalarParams{Scalar: tt.s},
			NoDiff: true,
			In:     optest.Ops(tt.x), Want: optest.Ops(tt.want)})
	}
	optest.Run(t, prim.MulScalar.Op, optest.Case{Name: "integers and a fraction",
		Params: prim.ScalarParams{Scalar: 0.5, NotInt: true},
		In:     optest.Ops(optest.Array(dtype.Int32, []int{2}, 1, -2)),
		Want:   optest.Ops(optest.Array(dtype.Float64, []int{2}, 0.5, -1))})
	optest.Run(t, prim.PlusScalar.Op, optest.Case{Name: "a file without the number",
		Attrs: map[string]string{},
		In:    optest.Ops(optest.F([]int{2}, 1, -2)), Want: optest.Ops(optest.F([]int{2}, 2, -1))})
	optest.Run(t, prim.MulScalar.Op, optest.Case{Name: "booleans and a fraction",
		Params: prim.ScalarParams{Scalar: 0.5, NotInt: true},
		In:     optest.Ops(optest.Array(dtype.Bool, []int{2}, 0, 1)),
		Want:   optest.Ops(optest.Array(dtype.Float64, []int{2}, 0, 0.5))})
}
