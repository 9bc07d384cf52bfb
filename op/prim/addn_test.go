package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestAddN(t *testing.T) {
	x, y, z := optest.F([]int{2}, 1, 2), optest.F([]int{2}, 10, 20), optest.F([]int{2}, 100, 200)
	i := optest.Array(dtype.Int64, []int{1}, 1<<53)
	optest.Run(t, prim.AddN.Op,
		optest.Case{Name: "one", In: optest.Ops(x), Want: optest.Ops(x)},
		optest.Case{Name: "three", In: optest.Ops(x, y, z),
			Want: optest.Ops(optest.F([]int{2}, 111, 222))},
		optest.Case{Name: "large integers", In: optest.Ops(i, optest.Array(dtype.Int64, []int{1},
			2)), Want: optest.Ops(optest.Array(dtype.Int64, []int{1}, 1<<53+2))},
		optest.Case{Name: "many elements", In: optest.Ops(optest.Range(1000), optest.Range(1000)),
			NoDiff: true},
	)
	optest.Run(t, prim.GradAdd.Op, optest.Case{In: optest.Ops(x, y),
		Want: optest.Ops(optest.F([]int{2}, 11, 22))})
}
