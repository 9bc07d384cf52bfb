package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestBoxIoU(t *testing.T) {
	x := optest.F([]int{2, 4}, 0.5, 0.5, 1, 1, 0, 0, 0.5, 0.5)
	y := optest.F([]int{1, 4}, 0.25, 0.25, 0.75, 0.75)
	zero := optest.Ops(optest.F([]int{2, 4}, 0), optest.F([]int{1, 4}, 0))
	optest.Run(t, vision.BoxIoU.Op, optest.Case{Name: "corners", NoDiff: true, In: optest.Ops(x, y),
		Want:  optest.Ops(optest.F([]int{2, 1}, 1./7, 1./7)),
		Heads: optest.Ops(optest.F([]int{2, 1}, 1)), WantGrad: zero},
		optest.Case{Name: "centres", NoDiff: true, Params: vision.BoxIoUParams{Format: "center"},
			In:   optest.Ops(optest.F([]int{1, 4}, 1, 1, 2, 2), optest.F([]int{1, 4}, 2, 1, 2, 1)),
			Want: optest.Ops(optest.F([]int{1, 1}, 1./5))},
		optest.Case{Name: "apart, touching and exchanged", NoDiff: true,
			In: optest.Ops(optest.F([]int{1, 4}, 0, 0, 1, 1), optest.F([]int{3, 4}, 2, 2, 3, 3, 1,
				0, 2, 1, 1, 1, 0, 0)),
			Want: optest.Ops(optest.F([]int{1, 3}, 0))},
		optest.Case{Name: "more axes", NoDiff: true, In: optest.Ops(random(1, 2, 3, 4),
			random(2, 1, 2, 4))},
		optest.Case{Name: "half", NoDiff: true, In: optest.Ops(half(x), half(y)),
			Want: optest.Ops(half(optest.F([]int{2, 1}, 1./7)))})
}
