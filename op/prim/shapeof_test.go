package prim_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/prim"
)

func TestShapeArray(t *testing.T) {
	x := optest.Range(2, 3, 4)
	optest.Run(t, prim.ShapeArray.Op, optest.Case{In: optest.Ops(x),
		Want: optest.Ops(optest.Array(dtype.Int64, []int{3}, 2, 3, 4))})
	optest.Run(t, prim.SizeArray.Op, optest.Case{In: optest.Ops(x),
		Want: optest.Ops(optest.Array(dtype.Int64, []int{1}, 24))})
}
