package prim_test

import (
	"fmt"
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestDot(t *testing.T) {
	a, b := optest.F([]int{2, 2}, 1, 2, 3, 4), optest.F([]int{2, 2}, 5, 6, 7, 8)
	tests := []struct {
		p    prim.DotParams
		want []float64
	}{
		{prim.DotParams{}, []float64{19, 22, 43, 50}},
		{prim.DotParams{TransposeA: true}, []float64{26, 30, 38, 44}},
		{prim.DotParams{TransposeB: true}, []float64{17, 23, 39, 53}},
		{prim.DotParams{TransposeA: true, TransposeB: true}, []float64{23, 31, 34, 46}},
	}
	for _, tt := range tests {
		optest.Run(t, prim.Dot.Op, optest.Case{Params: tt.p, In: optest.Ops(a, b),
			Want: optest.Ops(optest.F([]int{2, 2}, tt.want...))})
	}
	optest.Run(t, prim.Dot.Op,
		optest.Case{Name: "vectors", In: optest.Ops(optest.F([]int{3}, 1, 2, 3),
			optest.F([]int{3}, 4, 5, 6)), Want: optest.Ops(optest.F([]int{1}, 32))},
		optest.Case{Name: "nothing to sum", In: optest.Ops(optest.Range(2, 0), optest.Range(0, 2)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0))})
}

func TestDotShapes(t *testing.T) {
	shapes := []struct {
		a, b []int
		p    prim.DotParams
	}{
		{[]int{2, 3}, []int{3, 4}, prim.DotParams{}},
		{[]int{3, 2}, []int{3, 4}, prim.DotParams{TransposeA: true}},
		{[]int{2, 3}, []int{4, 3}, prim.DotParams{TransposeB: true}},
		{[]int{3, 2}, []int{4, 3}, prim.DotParams{TransposeA: true, TransposeB: true}},
		{[]int{2, 2, 3}, []int{3, 2}, prim.DotParams{}},
		{[]int{3, 2, 2}, []int{3, 2}, prim.DotParams{TransposeA: true}},
		{[]int{2, 3}, []int{3, 2, 2}, prim.DotParams{}},
		{[]int{2, 3}, []int{2, 2, 3}, prim.DotParams{TransposeB: true}},
		{[]int{3}, []int{3, 2}, prim.DotParams{}},
		{[]int{2, 3}, []int{3}, prim.DotParams{}},
	}
	for _, s := range shapes {
		optest.Run(t, prim.Dot.Op, optest.Case{Name: fmt.Sprint(s), Params: s.p,
			In: optest.Ops(optest.Random(1, -1, 1, s.a...), optest.Random(2, -1, 1, s.b...))})
	}
}

func TestBatchDot(t *testing.T) {
	a, b := optest.F([]int{2, 1, 2}, 1, 2, 3, 4), optest.F([]int{2, 2, 1}, 5, 6, 7, 8)
	optest.Run(t, prim.BatchDot.Op, optest.Case{In: optest.Ops(a, b),
		Want: optest.Ops(optest.F([]int{2, 1, 1}, 17, 53))})
	for _, p := range []prim.DotParams{{}, {TransposeA: true}, {TransposeB: true},
		{TransposeA: true, TransposeB: true}} {
		m, k, n := 2, 3, 4
		sa, sb := []int{2, m, k}, []int{2, k, n}
		if p.TransposeA {
			sa = []int{2, k, m}
		}
		if p.TransposeB {
			sb = []int{2, n, k}
		}
		optest.Run(t, prim.BatchDot.Op, optest.Case{Name: fmt.Sprint(p), Params: p,
			In: optest.Ops(optest.Random(1, -1, 1, sa...), optest.Random(2, -1, 1, sb...))})
	}
}

func TestDotErrors(t *testing.T) {
	x := optest.Ops(optest.New(dtype.Float32, 2, 3), optest.New(dtype.Float32, 2, 3))
	if _, err := optest.Infer(prim.Dot.Op, prim.DotParams{}, x); err == nil ||
		!strings.Contains(err.Error(), "rhs: extent 2 of axis 0 of (2, 3), want 3") {
		t.Errorf("got error %v", err)
	}
}
