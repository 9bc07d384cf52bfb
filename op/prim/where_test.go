package prim_test

import (
	"math"
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
	negative := math.Copysign(0, -1)
	for _, typ := range []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Int32, dtype.Int64,
		dtype.Float64, dtype.Float16} {
		optest.Run(t, prim.Where.Op,
			optest.Case{Name: typ.String() + " choose", Const: []int{0}, In: optest.Ops(
				optest.Array(typ, []int{2, 2}, 1, 0, negative, 1), x, y),
				Want: optest.Ops(optest.F([]int{2, 2}, 1, 20, 30, 4))},
			optest.Case{Name: typ.String() + " chosen", NoDiff: true, In: optest.Ops(
				optest.F([]int{2}, negative, 1), optest.Array(typ, []int{2}, 1, 1),
				optest.Array(typ, []int{2}, 0, 0)),
				Want: optest.Ops(optest.Array(typ, []int{2}, 0, 1))})
	}
}
