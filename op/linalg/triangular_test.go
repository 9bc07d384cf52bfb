package linalg_test

import (
	"fmt"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/linalg"
)

func TestTriangularProducts(t *testing.T) {
	var cases []optest.Case
	for mask := range 8 {
		p := linalg.TriangularParams{Transpose: mask&1 == 1, RightSide: mask&2 == 2,
			Upper: mask&4 == 4, Alpha: op.Some(1.5)}
		b := []int{2, 3, 2}
		if p.RightSide {
			b = []int{2, 2, 3}
		}
		cases = append(cases, optest.Case{Name: fmt.Sprintf("%v %v %v", p.Transpose, p.RightSide,
			p.Upper), Params: p,
			In: optest.Ops(full(1, 2, 3, 3), optest.Random(2, -1, 1, b...))})
	}
	optest.Run(t, linalg.Trmm.Op, cases...)
	optest.Run(t, linalg.Trsm.Op, cases...)
	in := optest.Ops(optest.F([]int{2, 2}, 2, 99, 1, 4), optest.F([]int{2, 1}, 2, 9))
	optest.Run(t, linalg.Trmm.Op, optest.Case{Name: "values", Params: linalg.TriangularParams{},
		In: in, Want: optest.Ops(optest.F([]int{2, 1}, 4, 38))})
	optest.Run(t, linalg.Trsm.Op, optest.Case{Name: "values", Params: linalg.TriangularParams{},
		In: in, Want: optest.Ops(optest.F([]int{2, 1}, 1, 2))})
	wantError(t, linalg.Trsm.Op, nil, "B: shape (2, 1), want (1, ?)", in[1], in[1])
}

func TestTriangles(t *testing.T) {
	a := optest.Range(3, 3)
	tests := []struct {
		p      linalg.TriangleParams
		packed []float64
		square []float64
	}{
		{linalg.TriangleParams{}, []float64{0, 3, 4, 6, 7, 8}, []float64{0, 0, 0, 3, 4, 0, 6, 7,
			8}},
		{linalg.TriangleParams{Upper: true}, []float64{0, 1, 4, 2, 5, 8}, []float64{0, 1, 2, 0, 4,
			5, 0, 0, 8}},
		{linalg.TriangleParams{Offset: 1}, []float64{1, 2, 5}, []float64{0, 1, 2, 0, 0, 5, 0, 0,
			0}},
		{linalg.TriangleParams{Offset: -1, Upper: true}, []float64{3, 6, 7},
			[]float64{0, 0, 0, 3, 0, 0, 6, 7, 0}},
	}
	for _, tt := range tests {
		packed := optest.F([]int{len(tt.packed)}, tt.packed...)
		name := fmt.Sprint(tt.p.Offset, tt.p.Upper)
		optest.Run(t, linalg.ExtractTrian.Op, optest.Case{Name: name, Params: tt.p,
			In: optest.Ops(a), Want: optest.Ops(packed)})
		optest.Run(t, linalg.MakeTrian.Op, optest.Case{Name: name, Params: tt.p,
			In: optest.Ops(packed), Want: optest.Ops(optest.F([]int{3, 3}, tt.square...))})
	}
	optest.Run(t, linalg.MakeTrian.Op, optest.Case{Name: "batch", Params: linalg.TriangleParams{},
		In: optest.Ops(optest.Random(1, -1, 1, 2, 2, 3))})
	wantError(t, linalg.MakeTrian.Op, nil, "A: 4 elements in the last axis, which fill no triangle",
		optest.Range(4))
	wantError(t, linalg.ExtractTrian.Op, map[string]string{"offset": "3"},
		"offset: 3 for matrices with 3 rows, want less", a)
}

func TestDiagonals(t *testing.T) {
	a := optest.Range(3, 3)
	tests := []struct {
		offset int
		diag   []float64
		square []float64
	}{
		{0, []float64{0, 4, 8}, []float64{0, 0, 0, 0, 4, 0, 0, 0, 8}},
		{1, []float64{1, 5}, []float64{0, 1, 0, 0, 0, 5, 0, 0, 0}},
		{-2, []float64{6}, []float64{0, 0, 0, 0, 0, 0, 6, 0, 0}},
	}
	for _, tt := range tests {
		p, diag := linalg.BandParams{Offset: tt.offset}, optest.F([]int{len(tt.diag)}, tt.diag...)
		optest.Run(t, linalg.ExtractDiag.Op, optest.Case{Name: fmt.Sprint(tt.offset), Params: p,
			In: optest.Ops(a), Want: optest.Ops(diag)})
		optest.Run(t, linalg.MakeDiag.Op, optest.Case{Name: fmt.Sprint(tt.offset), Params: p,
			In: optest.Ops(diag), Want: optest.Ops(optest.F([]int{3, 3}, tt.square...))})
	}
	optest.Run(t, linalg.ExtractDiag.Op, optest.Case{Name: "batch",
		Params: linalg.BandParams{Offset: -1}, In: optest.Ops(optest.Random(1, -1, 1, 2, 1, 3, 3))})
	optest.Run(t, linalg.SumLogDiag.Op,
		optest.Case{Name: "one", In: optest.Ops(optest.F([]int{2, 2}, 1, 5, 5, 1)),
			Want: optest.Ops(optest.F([]int{1}, 0))},
		optest.Case{Name: "batch", In: optest.Ops(full(1, 2, 2, 3, 3))})
	wantError(t, linalg.ExtractDiag.Op, map[string]string{"offset": "-3"},
		"offset: -3 for matrices with 3 rows, want less", a)
	wantError(t, linalg.ExtractDiag.Op, nil, "A: shape (3,), want at least 2 axes", optest.Range(3))
}
