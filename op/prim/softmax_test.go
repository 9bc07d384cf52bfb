package prim_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/prim"
)

func TestSoftmax(t *testing.T) {
	x := optest.F([]int{2, 2}, 0, math.Ln2, math.Log(3), 0)
	third := 1.0 / 3
	optest.Run(t, prim.Softmax.Op,
		optest.Case{In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, third, 2*third, 0.75,
			0.25))}, optest.Case{Name: "first axis", Params: prim.SoftmaxParams{Axis: op.Some(0)},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 0.25, 2*third, 0.75, third))},
		optest.Case{Name: "temperature", Params: prim.SoftmaxParams{Temperature: op.Some(0.5)},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 0.2, 0.8, 0.9, 0.1))},
		optest.Case{Name: "large", NoDiff: true, In: optest.Ops(optest.F([]int{2}, 1000, 1000)),
			Want: optest.Ops(optest.F([]int{2}, 0.5))},
		optest.Case{Name: "dtype", Params: prim.SoftmaxParams{DType: op.Some(dtype.Float64)},
			In: optest.Ops(optest.F([]int{2}, 1, 1)), Want: optest.Ops(optest.Array(dtype.Float64,
				[]int{2}, 0.5))},
		optest.Case{Name: "length", Params: prim.SoftmaxParams{UseLength: true},
			In:   optest.Ops(x, optest.Array(dtype.Int32, []int{2}, 1, 2)),
			Want: optest.Ops(optest.F([]int{2, 2}, 1, 0, 0.75, 0.25))},
		optest.Case{Name: "length zero", Params: prim.SoftmaxParams{UseLength: true},
			In:   optest.Ops(x, optest.Array(dtype.Int32, []int{2}, 0, 9)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 0, 0.75, 0.25))})
	optest.Run(t, prim.Softmin.Op, optest.Case{In: optest.Ops(x),
		Want: optest.Ops(optest.F([]int{2, 2}, 2*third, third, 0.25, 0.75))})
	optest.Run(t, prim.LogSoftmax.Op,
		optest.Case{In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, math.Log(third),
			math.Log(2*third), math.Log(0.75), math.Log(0.25)))},
		optest.Case{Name: "middle axis", Params: prim.SoftmaxParams{Axis: op.Some(1),
			Temperature: op.Some(2.0)}, In: optest.Ops(optest.Random(5, -1, 1, 2, 3, 2))},
		optest.Case{Name: "length", Params: prim.SoftmaxParams{UseLength: true, Axis: op.Some(1)},
			In: optest.Ops(optest.Random(5, -1, 1, 2, 3, 2), optest.Array(dtype.Int32, []int{2, 2},
				1, 2, 3, 0))})
}
