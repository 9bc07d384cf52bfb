package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestGridGenerator(t *testing.T) {
	type P = vision.GridGeneratorParams
	optest.Run(t, vision.GridGenerator.Op,
		optest.Case{Name: "identity", Params: P{TransformType: "affine", TargetShape: []int{2, 3}},
			In:   optest.Ops(optest.F([]int{1, 6}, 1, 0, 0, 0, 1, 0)),
			Want: optest.Ops(optest.F([]int{1, 2, 2, 3}, -1, 0, 1, -1, 0, 1, -1, -1, -1, 1, 1, 1))},
		optest.Case{Name: "moved and turned", Params: P{TransformType: "affine",
			TargetShape: []int{2, 2}}, In: optest.Ops(optest.F([]int{1, 6}, 0, 1, 5, -1, 0, 7)),
			Want: optest.Ops(optest.F([]int{1, 2, 2, 2}, 4, 4, 6, 6, 8, 6, 8, 6))},
		optest.Case{Name: "several", Params: P{TransformType: "affine", TargetShape: []int{3, 4}},
			In: optest.Ops(random(1, 3, 6))},
		optest.Case{Name: "no displacement", Params: P{TransformType: "warp"},
			In:   optest.Ops(optest.F([]int{1, 2, 2, 3}, 0)),
			Want: optest.Ops(optest.F([]int{1, 2, 2, 3}, -1, 0, 1, -1, 0, 1, -1, -1, -1, 1, 1, 1))},
		optest.Case{Name: "warp", Params: P{TransformType: "warp"},
			In: optest.Ops(random(1, 2, 2, 3, 4))},
		optest.Case{Name: "half", Params: P{TransformType: "warp"},
			In: optest.Ops(half(random(1, 1, 2, 3, 3)))})
	runHidden(t, "_backward_GridGenerator", "transform_type=affine; target_shape=(2,3)",
		random(1, 2, 2, 2, 3))
	runHidden(t, "_backward_GridGenerator", "transform_type=warp", random(1, 2, 2, 2, 3))
}
