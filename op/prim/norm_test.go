package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestNorm(t *testing.T) {
	x := optest.F([]int{2, 2}, 3, -4, 6, 8)
	optest.Run(t, prim.Norm.Op,
		optest.Case{Name: "rows", Params: prim.NormParams{Axis: []int{1}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2}, 5, 10))},
		optest.Case{Name: "sums", Params: prim.NormParams{Ord: 1, Axis: []int{0}, KeepDims: true},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{1, 2}, 9, 12))},
		optest.Case{Name: "all", In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1}, math.Sqrt(125)))},
		optest.Case{Name: "type", Params: prim.NormParams{OutDType: op.Some(dtype.Float64)},
			In: optest.Ops(x), Want: optest.Ops(optest.Array(dtype.Float64, []int{1},
				math.Sqrt(125)))},
		optest.Case{Name: "integers", In: optest.Ops(optest.Array(dtype.Int32, []int{3}, 1, -2, 7)),
			Want: optest.Ops(optest.Array(dtype.Int32, []int{1}, 7))})
}

func TestMoments(t *testing.T) {
	x := optest.F([]int{2, 2}, 1, 2, 3, 6)
	optest.Run(t, prim.Moments.Op,
		optest.Case{Name: "columns", Params: prim.MomentsParams{Axes: []int{0}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2}, 2, 4), optest.F([]int{2}, 1, 4))},
		optest.Case{Name: "all", Params: prim.MomentsParams{KeepDims: true}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1}, 3), optest.F([]int{1, 1}, 3.5))})
}
