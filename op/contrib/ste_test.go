package contrib_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/contrib"
)

func TestStraightThrough(t *testing.T) {
	x := optest.F([]int{6}, -1.5, -0.4, 0, 0.5, 2.5, 1.9)
	head := optest.F([]int{6}, 1, -2, 3, 4, 5, 6)
	optest.Run(t, contrib.RoundSTE.Op,
		optest.Case{Name: "halves away from zero", In: optest.Ops(x), NoDiff: true,
			Want:  optest.Ops(optest.F([]int{6}, -2, 0, 0, 1, 3, 2)),
			Heads: optest.Ops(head), WantGrad: optest.Ops(head)},
		optest.Case{Name: "integers", In: optest.Ops(optest.Array(dtype.Int32, []int{2}, -3, 4)),
			Want: optest.Ops(optest.Array(dtype.Int32, []int{2}, -3, 4))})
	optest.Run(t, contrib.SignSTE.Op,
		optest.Case{Name: "floats", In: optest.Ops(x), NoDiff: true,
			Want:  optest.Ops(optest.F([]int{6}, -1, -1, 0, 1, 1, 1)),
			Heads: optest.Ops(head), WantGrad: optest.Ops(head)},
		optest.Case{Name: "integers", In: optest.Ops(optest.Array(dtype.Int8, []int{2}, -3, 4)),
			Want: optest.Ops(optest.Array(dtype.Int8, []int{2}, -1, 1))})
}
