package tensor_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/tensor"
)

func TestDiag(t *testing.T) {
	x := optest.F([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	optest.Run(t, tensor.Diag.Op,
		optest.Case{Name: "main", In: optest.Ops(x), Want: optest.Ops(optest.F([]int{2}, 1, 5))},
		optest.Case{Name: "above", Params: tensor.DiagParams{K: 2}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1}, 3))},
		optest.Case{Name: "below", Params: tensor.DiagParams{K: -1}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1}, 4))},
		optest.Case{Name: "none", Params: tensor.DiagParams{K: 3}, In: optest.Ops(x)},
		optest.Case{Name: "of a vector", Params: tensor.DiagParams{K: -1},
			In: optest.Ops(optest.F([]int{2}, 1, 2)), Want: optest.Ops(optest.F([]int{3, 3}, 0, 0,
				0, 1, 0, 0, 0, 2, 0))},
		optest.Case{Name: "three axes", In: optest.Ops(optest.Range(2, 2, 2)),
			Want: optest.Ops(optest.F([]int{2, 2}, 0, 6, 1, 7))},
		optest.Case{Name: "other axes", Params: tensor.DiagParams{Axis1: 2, Axis2: op.Some(0)},
			In: optest.Ops(optest.Range(2, 2, 2)), Want: optest.Ops(optest.F([]int{2, 2}, 0, 5, 2,
				7))})
}
