package tensor_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/tensor"
)

func TestHardSigmoid(t *testing.T) {
	optest.Run(t, tensor.HardSigmoid.Op,
		optest.Case{In: optest.Ops(optest.F([]int{4}, -3, 0, 1, 3)),
			Want: optest.Ops(optest.F([]int{4}, 0, 0.5, 0.7, 1))},
		optest.Case{Name: "ends", NoDiff: true, In: optest.Ops(optest.F([]int{2}, -2.5, 2.5)),
			Heads: optest.Ops(optest.F([]int{2}, 1)), WantGrad: optest.Ops(optest.F([]int{2}, 0))})
}
