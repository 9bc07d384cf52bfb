package tensor_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/tensor"
)

func TestKhatriRao(t *testing.T) {
	a, b := optest.F([]int{2, 2}, 1, 2, 3, 4), optest.F([]int{1, 2}, 5, 6)
	optest.Run(t, tensor.KhatriRao.Op,
		optest.Case{Name: "two", In: optest.Ops(a, b), Want: optest.Ops(optest.F([]int{2, 2}, 5, 12,
			15, 24))}, optest.Case{Name: "three", In: optest.Ops(b, a, a),
			Want: optest.Ops(optest.F([]int{4, 2}, 5, 24, 15, 48, 15, 48, 45, 96))})
}
