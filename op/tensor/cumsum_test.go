package tensor_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/tensor"
)

func TestCumSum(t *testing.T) {
	x := optest.F([]int{2, 2}, 1, 2, 3, 4)
	optest.Run(t, tensor.CumSum.Op,
		optest.Case{Name: "rows", Params: tensor.CumSumParams{Axis: op.Some(-1)}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{2, 2}, 1, 3, 3, 7))},
		optest.Case{Name: "columns", Params: tensor.CumSumParams{Axis: op.Some(0)},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2, 2}, 1, 2, 4, 6))},
		optest.Case{Name: "flat", In: optest.Ops(x), Want: optest.Ops(optest.F([]int{4}, 1, 3, 6,
			10))},
		optest.Case{Name: "type", Params: tensor.CumSumParams{DType: op.Some(dtype.Float64)},
			In:   optest.Ops(optest.Array(dtype.Int32, []int{2}, 1, 2)),
			Want: optest.Ops(optest.Array(dtype.Float64, []int{2}, 1, 3))},
		optest.Case{Name: "integers", Params: tensor.CumSumParams{DType: op.Some(dtype.Int8)},
			NoDiff: true, In: optest.Ops(optest.F([]int{3}, 1.7, -1.7, 1.7)),
			Want: optest.Ops(optest.Array(dtype.Int8, []int{3}, 1, 0, 1))},
		optest.Case{Name: "empty", In: optest.Ops(optest.New(dtype.Float32, 0)),
			Want: optest.Ops(optest.New(dtype.Float32, 0))})
}
