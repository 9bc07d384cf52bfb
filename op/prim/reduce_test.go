package prim_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestReduceAxes(t *testing.T) {
	x := optest.Range(2, 3, 2)
	tests := []struct {
		name string
		p    prim.ReduceParams
		want op.Tensor
	}{
		{"all", prim.ReduceParams{}, optest.F([]int{1}, 66)},
		{"all, kept", prim.ReduceParams{KeepDims: true}, optest.F([]int{1, 1, 1}, 66)},
		{"one", prim.ReduceParams{Axis: []int{1}}, optest.F([]int{2, 2}, 6, 9, 24, 27)},
		{"last", prim.ReduceParams{Axis: []int{-1}, KeepDims: true}, optest.F([]int{2, 3, 1}, 1, 5,
			9, 13, 17, 21)},
		{"two", prim.ReduceParams{Axis: []int{0, 2}}, optest.F([]int{3}, 14, 22, 30)},
		{"all but one", prim.ReduceParams{Axis: []int{1}, Exclude: true}, optest.F([]int{3}, 14, 22,
			30)},
		{"every one", prim.ReduceParams{Axis: []int{0, 1, 2}}, optest.F([]int{1}, 66)},
	}
	for _, tt := range tests {
		optest.Run(t, prim.Sum.Op, optest.Case{Name: tt.name, Params: tt.p, In: optest.Ops(x),
			Want: optest.Ops(tt.want)})
	}
}

func TestReductions(t *testing.T) {
	x := []float64{1, 2, -3, 4, 5, 0.5}
	tests := []struct {
		op   op.Handle[prim.ReduceParams]
		want []float64
	}{
		{prim.Sum, []float64{0, 9.5}},
		{prim.Mean, []float64{0, 9.5 / 3}},
		{prim.Prod, []float64{-6, 10}},
		{prim.NanSum, []float64{0, 9.5}},
		{prim.NanProd, []float64{-6, 10}},
		{prim.Max, []float64{2, 5}},
		{prim.Min, []float64{-3, 0.5}},
	}
	for _, tt := range tests {
		optest.Run(t, tt.op.Op, optest.Case{Params: prim.ReduceParams{Axis: []int{1}},
			In:   optest.Ops(optest.F([]int{2, 3}, x...)),
			Want: optest.Ops(optest.F([]int{2}, tt.want...))})
	}
}

func TestReduceCorners(t *testing.T) {
	holes := optest.F([]int{2, 2}, nan, 3, nan, nan)
	rows := prim.ReduceParams{Axis: []int{1}}
	head := optest.Ops(optest.F([]int{2}, 1, 1))
	optest.Run(t, prim.NanSum.Op, optest.Case{Params: rows, In: optest.Ops(holes),
		Want: optest.Ops(optest.F([]int{2}, 3, 0)), NoDiff: true,
		Heads: head, WantGrad: optest.Ops(optest.F([]int{2, 2}, 0, 1, 0, 0))})
	optest.Run(t, prim.NanProd.Op, optest.Case{Params: rows, In: optest.Ops(holes),
		Want: optest.Ops(optest.F([]int{2}, 3, 1)), NoDiff: true,
		Heads: head, WantGrad: optest.Ops(optest.F([]int{2, 2}, 0, 1, 0, 0))})
	optest.Run(t, prim.Max.Op, optest.Case{Params: rows, In: optest.Ops(holes),
		Want: optest.Ops(optest.F([]int{2}, nan, nan)), NoDiff: true})
	ties := optest.F([]int{2, 2}, 3, 3, 1, 2)
	optest.Run(t, prim.Max.Op, optest.Case{Params: rows, In: optest.Ops(ties), NoDiff: true,
		Heads: head, WantGrad: optest.Ops(optest.F([]int{2, 2}, 1, 1, 0, 1))})
	ints := optest.Array(dtype.Int32, []int{3}, 1, -2, 7)
	optest.Run(t, prim.Mean.Op, optest.Case{In: optest.Ops(ints),
		Want: optest.Ops(optest.Array(dtype.Int32, []int{1}, 2))})
	optest.Run(t, prim.Max.Op, optest.Case{In: optest.Ops(ints),
		Want: optest.Ops(optest.Array(dtype.Int32, []int{1}, 7))})
	optest.Run(t, prim.Prod.Op, optest.Case{In: optest.Ops(optest.Array(dtype.Uint8, []int{2}, 100,
		3)), Want: optest.Ops(optest.Array(dtype.Uint8, []int{1}, 44))})
	optest.Run(t, prim.Sum.Op, optest.Case{Params: rows,
		In:   optest.Ops(optest.New(dtype.Float32, 2, 0)),
		Want: optest.Ops(optest.F([]int{2}, 0, 0))})
	optest.Run(t, prim.Sum.Op, optest.Case{Params: rows,
		In: optest.Ops(optest.Random(3, -1, 1, 3, 1000)), NoDiff: true})
}

func TestReduceErrors(t *testing.T) {
	tests := []struct {
		axis []int
		want string
	}{
		{[]int{2}, "axis: axis 2, want one of an array with 2 axes"},
		{[]int{1, -1}, "axis: [1 -1] names axis 1 twice"},
	}
	for _, tt := range tests {
		_, err := optest.Infer(prim.Sum.Op, prim.ReduceParams{Axis: tt.axis},
			optest.Ops(optest.Range(2, 3)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("axis %v: got error %v, want %q", tt.axis, err, tt.want)
		}
	}
}
