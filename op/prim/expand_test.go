package prim_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestBroadcastTo(t *testing.T) {
	x := optest.F([]int{1, 2}, 1, 2)
	optest.Run(t, prim.BroadcastTo.Op,
		optest.Case{Params: prim.BroadcastToParams{Shape: []int{3, 2}}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{3, 2}, 1, 2, 1, 2, 1, 2))},
		optest.Case{Name: "zero keeps", Params: prim.BroadcastToParams{Shape: []int{2, 0}}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 1, 2))},
		optest.Case{Name: "more axes", Params: prim.BroadcastToParams{Shape: []int{2, 1, 2}}, In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 1, 2}, 1, 2, 1, 2))},
	)
	optest.Run(t, prim.BroadcastAxis.Op, optest.Case{Params: prim.BroadcastAxisParams{Axis: []int{0, 2}, Size: []int{2, 2}},
		In: optest.Ops(optest.F([]int{1, 2, 1}, 1, 2)), Want: optest.Ops(optest.F([]int{2, 2, 2}, 1, 1, 2, 2, 1, 1, 2, 2))})
	optest.Run(t, prim.BroadcastLike.Op,
		optest.Case{In: optest.Ops(x, optest.Range(2, 2)), Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 1, 2))},
		optest.Case{Name: "axes", Params: prim.BroadcastLikeParams{LhsAxes: []int{0}, RhsAxes: []int{-1}},
			In: optest.Ops(x, optest.Range(5, 3)), Want: optest.Ops(optest.F([]int{3, 2}, 1, 2, 1, 2, 1, 2))})
}

func TestSumLike(t *testing.T) {
	optest.Run(t, prim.SumLike.Op,
		optest.Case{Name: "same shape", In: optest.Ops(optest.Range(2, 2), optest.Range(2, 2)), Want: optest.Ops(optest.Range(2, 2))},
		optest.Case{Name: "fewer axes", In: optest.Ops(optest.Range(2, 3), optest.Range(3)), Want: optest.Ops(optest.F([]int{3}, 3, 5, 7))},
		optest.Case{Name: "ones", In: optest.Ops(optest.Range(2, 3), optest.Range(2, 1)), Want: optest.Ops(optest.F([]int{2, 1}, 3, 12))})
}
