package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestWhere(t *testing.T) {
	x, y := optest.F([]int{2, 2}, 1, 2, 3, 4), optest.F([]int{2, 2}, 10, 20, 30, 40)
	optest.Run(t, prim.Where.Op,
		optest.Case{Name: "elements", Const: []int{0}, In: optest.Ops(optest.F([]int{2, 2}, 1, 0, 0,
			-1), x, y), Want: optest.Ops(optest.F([]int{2, 2}, 1, 20, 30, 4))},
		optest.Case{Name: "rows", Const: []int{0}, In: optest.Ops(optest.Array(dtype.Bool, []int{2},
			0, 1), x, y), Want: optest.Ops(optest.F([]int{2, 2}, 10, 20, 3, 4))})
}
