package prim_test

import (
	"math"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// pairs lists both variants of every binary function.
var pairs = []struct {
	elem, bcast op.Handle[op.NoParams]
	f           func(a, b float64) float64
}{
	{prim.ElemwiseAdd, prim.BroadcastAdd, func(a, b float64) float64 { return a + b }},
	{prim.ElemwiseSub, prim.BroadcastSub, func(a, b float64) float64 { return a - b }},
	{prim.ElemwiseMul, prim.BroadcastMul, func(a, b float64) float64 { return a * b }},
	{prim.ElemwiseDiv, prim.BroadcastDiv, func(a, b float64) float64 { return a / b }},
	{prim.Power, prim.BroadcastPower, math.Pow},
	{prim.Hypot, prim.BroadcastHypot, math.Hypot},
	{prim.Mod, prim.BroadcastMod, math.Mod},
	{prim.Maximum, prim.BroadcastMaximum, math.Max},
	{prim.Minimum, prim.BroadcastMinimum, math.Min},
	{prim.Equal, prim.BroadcastEqual, func(a, b float64) float64 { return truth(a == b) }},
	{prim.NotEqual, prim.BroadcastNotEqual, func(a, b float64) float64 { return truth(a != b) }},
	{prim.Greater, prim.BroadcastGreater, func(a, b float64) float64 { return truth(a > b) }},
	{prim.GreaterEqual, prim.BroadcastGreaterEqual,
		func(a, b float64) float64 { return truth(a >= b) }},
	{prim.Lesser, prim.BroadcastLesser, func(a, b float64) float64 { return truth(a < b) }},
	{prim.LesserEqual, prim.BroadcastLesserEqual,
		func(a, b float64) float64 { return truth(a <= b) }},
	{prim.LogicalAnd, prim.BroadcastLogicalAnd, func(a, b float64) float64 {
		return truth(a != 0 && b != 0)
	}},
	{prim.LogicalOr, prim.BroadcastLogicalOr, func(a, b float64) float64 {
		return truth(a != 0 || b != 0)
	}},
	{prim.LogicalXor, prim.BroadcastLogicalXor,
		func(a, b float64) float64 { return truth((a != 0) != (b != 0)) }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestBinary(t *testing.T) {
	shapes := []struct{ a, b, out []int }{
		{[]int{2, 3}, []int{2, 3}, []int{2, 3}},
		{[]int{2, 1, 3}, []int{1, 4, 3}, []int{2, 4, 3}},
		{[]int{2, 3}, []int{1, 1}, []int{2, 3}},
		{[]int{3}, []int{2, 3}, []int{2, 3}},
		{[]int{2, 0}, []int{1, 1}, []int{2, 0}},
	}
	for _, p := range pairs {
		for i, s := range shapes {
			// positive, and no two equal: no kink is near
			a, b := optest.Random(1, 0.2, 3, s.a...), optest.Random(2, 0.2, 3, s.b...)
			c := optest.Case{Name: dtype.Shape(s.out).String(), In: optest.Ops(a, b),
				Want: optest.Ops(oracle(p.f, a, b, s.out))}
			optest.Run(t, p.bcast.Op, c)
			if i == 0 {
				optest.Run(t, p.elem.Op, c)
			}
		}
	}
}

// oracle broadcasts by index arithmetic, element by element.
func oracle(f func(a, b float64) float64, a, b op.Tensor, shape []int) op.Tensor {
	out := optest.New(dtype.Float32, shape...)
	at := func(t op.Tensor, idx []int) float64 {
		o := 0
		for i, d := range t.Shape {
			k := idx[len(idx)-len(t.Shape)+i]
			if d == 1 {
				k = 0
			}
			o = o*d + k
		}
		return float64(op.Slice[float32](t)[o])
	}
	idx := make([]int, len(shape))
	for i := range op.Slice[float32](out) {
		for a, rest := len(shape)-1, i; a >= 0; a-- {
			idx[a], rest = rest%shape[a], rest/shape[a]
		}
		op.Slice[float32](out)[i] = float32(f(at(a, idx), at(b, idx)))
	}
	return out
}

func TestBinaryCorners(t *testing.T) {
	tests := []struct {
		name    string
		op      op.Handle[op.NoParams]
		t       dtype.Type
		a, b, y []float64
	}{
		{"modulo takes the sign of the divisor", prim.BroadcastMod, dtype.Float32,
			[]float64{5, -5, 5, -5, 5}, []float64{3, 3, -3, -3, 0}, []float64{2, 1, -1, -2, 0}},
		{"modulo of integers", prim.Mod, dtype.Int32, []float64{5, -5, 5, -5, 5},
			[]float64{3, 3, -3, -3, 0}, []float64{2, 1, -1, -2, 0}},
		{"division by zero", prim.ElemwiseDiv, dtype.Int32, []float64{5, 7}, []float64{0, 2},
			[]float64{0, 3}},
		{"integers wrap", prim.ElemwiseAdd, dtype.Uint8, []float64{250, 1}, []float64{10, 1},
			[]float64{4, 2}},
		{"large integers are exact", prim.ElemwiseAdd, dtype.Int64, []float64{1 << 53, 2},
			[]float64{2, 2}, []float64{1<<53 + 2, 4}},
		{"power of integers", prim.BroadcastPower, dtype.Int32, []float64{1, -2, 7},
			[]float64{1, -2, 7}, []float64{1, 0, 823543}},
		{"NaN wins", prim.BroadcastMaximum, dtype.Float32, []float64{nan, 0}, []float64{0, nan},
			[]float64{nan, nan}},
		{"NaN wins", prim.BroadcastMinimum, dtype.Float32, []float64{nan, 0}, []float64{0, nan},
			[]float64{nan, nan}},
		{"NaN differs", prim.Equal, dtype.Float32, []float64{nan, 1}, []float64{nan, 1},
			[]float64{0, 1}},
		{"NaN differs", prim.NotEqual, dtype.Float32, []float64{nan, 1}, []float64{nan, 1},
			[]float64{1, 0}},
		{"compare in their type", prim.BroadcastEqual, dtype.Int32, []float64{1, 2},
			[]float64{1, 3}, []float64{1, 0}},
		{"half", prim.ElemwiseMul, dtype.Float16, []float64{1, 300}, []float64{2, 300},
			[]float64{2, math.Inf(1)}},
	}
	for _, tt := range tests {
		n := []int{len(tt.a)}
		optest.Run(t, tt.op.Op, optest.Case{Name: tt.name, NoDiff: true,
			In:   optest.Ops(optest.Array(tt.t, n, tt.a...), optest.Array(tt.t, n, tt.b...)),
			Want: optest.Ops(optest.Array(tt.t, n, tt.y...))})
	}
}

func TestBroadcastTies(t *testing.T) {
	x := optest.F([]int{2}, 1, 1)
	one := optest.F([]int{2}, 1)
	optest.Run(t, prim.BroadcastMaximum.Op, optest.Case{In: optest.Ops(x, x), NoDiff: true,
		Heads:    optest.Ops(one),
		WantGrad: optest.Ops(one, optest.F([]int{2}, 0))})
}

func TestBinaryShapeErrors(t *testing.T) {
	tests := []struct {
		op   op.Handle[op.NoParams]
		a, b []int
		want string
	}{
		{prim.BroadcastAdd, []int{2, 3}, []int{2, 4},
			"rhs: shapes (2, 3) and (2, 4) do not broadcast"},
		{prim.ElemwiseAdd, []int{2, 3}, []int{2, 1}, "shapes differ: (2, 3) and (2, 1)"},
	}
	for _, tt := range tests {
		_, err := optest.Infer(tt.op.Op, none, optest.Ops(optest.New(dtype.Float32, tt.a...),
			optest.New(dtype.Float32, tt.b...)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %q", tt.op.Name, err, tt.want)
		}
	}
}

// TestBinaryWhole compares the kernels for integers and truth values, whose sums wrap around.
func TestBinaryWhole(t *testing.T) {
	numbers := []float64{0, 1, 2, 3, 100, 127, 128, 200, 255, 0, 1, 7}
	signed := []float64{0, -1, 2, -3, 100, -127, 1 << 30, 1 << 30, -1 << 31, 0, 1, 7}
	truths := []float64{0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1}
	for typ, x := range map[dtype.Type][]float64{dtype.Uint8: numbers, dtype.Int32: signed,
		dtype.Int64: signed, dtype.Bool: truths} {
		row, column := optest.Array(typ, []int{1, 4}, x[2:6]...), optest.Array(typ, []int{3, 1},
			x[6:9]...)
		all := optest.Array(typ, []int{3, 4}, x...)
		y := optest.Array(typ, []int{3, 4}, append(x[5:], x[:5]...)...)
		for _, h := range []op.Handle[op.NoParams]{prim.BroadcastAdd, prim.BroadcastSub,
			prim.BroadcastMul, prim.BroadcastMaximum, prim.BroadcastMinimum, prim.BroadcastEqual,
			prim.BroadcastNotEqual, prim.BroadcastGreater, prim.BroadcastGreaterEqual,
			prim.BroadcastLesser, prim.BroadcastLesserEqual, prim.BroadcastLogicalAnd,
			prim.BroadcastLogicalOr, prim.BroadcastLogicalXor} {
			for name, in := range map[string][]op.Tensor{"elements": {all, y}, "row": {all, row},
				"column": {column, all}, "both": {row, column},
				"number": {all, optest.Array(typ, []int{1}, x[1])}} {
				optest.Run(t, h.Op, optest.Case{Name: typ.String() + " " + name, NoDiff: true,
					In: in})
			}
		}
	}
	big := optest.New(dtype.Int32, 3000)
	loop.Generate(big, func(i int) float64 { return float64(i*i%4099 - 2000) })
	optest.Run(t, prim.BroadcastEqual.Op, optest.Case{Name: "many", NoDiff: true,
		In: optest.Ops(big, optest.Array(dtype.Int32, []int{1}, 500))})
}
