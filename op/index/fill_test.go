package index_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/index"
)

func TestFillElement(t *testing.T) {
	optest.Run(t, index.FillElement.Op,
		optest.Case{Name: "out of range", In: optest.Ops(optest.F([]int{3, 2}, 1, 2, 3, 4, 5, 6),
			optest.F([]int{3}, 7, 8, 9), optest.F([]int{3}, 1, 2, 0)),
			Want: optest.Ops(optest.F([]int{3, 2}, 1, 7, 3, 4, 9, 6))},
		optest.Case{Name: "integers", In: optest.Ops(optest.Array(dtype.Int64, []int{1, 2}, 1, 2),
			optest.Array(dtype.Int64, []int{1}, 7), optest.F([]int{1}, 1)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{1, 2}, 1, 7))})
}

func TestOneHotEncode(t *testing.T) {
	optest.Run(t, index.OneHotEncode.Op,
		optest.Case{In: optest.Ops(optest.F([]int{3}, 1, 2, -1), optest.F([]int{3, 2}, 1, 2, 3, 4, 5,
			6)), Want: optest.Ops(optest.F([]int{3, 2}, 0, 1, 0, 0, 0, 0))})
}
