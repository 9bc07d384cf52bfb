package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestAdaptiveAvgPooling2D(t *testing.T) {
	type P = vision.AdaptiveAvgPooling2DParams
	x := optest.Range(1, 1, 3, 4)
	optest.Run(t, vision.AdaptiveAvgPooling2D.Op,
		optest.Case{Name: "one element", In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 5.5))},
		optest.Case{Name: "overlapping windows", Params: P{OutputSize: []int{2, 3}},
			In:   optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 2, 3}, 2.5, 3.5, 4.5, 6.5, 7.5, 8.5))},
		optest.Case{Name: "larger than data", Params: P{OutputSize: []int{4}},
			In: optest.Ops(optest.Range(1, 1, 2, 2)),
			Want: optest.Ops(optest.F([]int{1, 1, 4, 4}, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2,
				3, 3))}, optest.Case{Name: "several", Params: P{OutputSize: []int{3}},
			In: optest.Ops(random(1, 2, 3, 5, 7))})
	runHidden(t, "_backward_contrib_AdaptiveAvgPooling2D", "output_size=(2,3)",
		random(1, 2, 2, 2, 3), random(2, 2, 2, 5, 5))
}
