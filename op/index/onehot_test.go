package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/index"
)

func TestOneHot(t *testing.T) {
	optest.Run(t, index.OneHot.Op,
		optest.Case{Params: index.OneHotParams{Depth: 3}, NoDiff: true, In: optest.Ops(ids(dtype.Float32, []int{3}, 2, 0, 5)),
			Want: optest.Ops(optest.F([]int{3, 3}, 0, 0, 1, 1, 0, 0, 0, 0, 0))},
		optest.Case{Name: "values", Params: index.OneHotParams{Depth: 2, OnValue: op.Some(2.0), OffValue: -1, DType: dtype.Int32},
			In: optest.Ops(ids(dtype.Int32, []int{1, 2}, 1, -1)), Want: optest.Ops(optest.Array(dtype.Int32, []int{1, 2, 2}, -1, 2, -1, -1))})
}
