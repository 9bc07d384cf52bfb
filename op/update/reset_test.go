package update_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/update"
)

func TestResetArrays(t *testing.T) {
	optest.Run(t, update.ResetArrays.Op, optest.Case{In: optest.Ops(optest.F([]int{2}, 1, 2),
		optest.Array(dtype.Int32, []int{1, 3}, 4, 5, 6)), After: optest.Ops(optest.F([]int{2}, 0, 0),
		optest.Array(dtype.Int32, []int{1, 3}, 0, 0, 0))})
}
