package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestSpatialTransformer(t *testing.T) {
	p := vision.SpatialTransformerParams{TargetShape: []int{4, 3}, TransformType: "affine",
		SamplerType: "bilinear"}
	x := random(1, 1, 2, 4, 3)
	optest.Run(t, vision.SpatialTransformer.Op,
		optest.Case{Name: "identity", Params: p, In: optest.Ops(x, optest.F([]int{1, 6}, 1, 0, 0, 0,
			1, 0)), Want: optest.Ops(x), NoDiff: true},
		optest.Case{Name: "upside down", Params: p, NoDiff: true,
			In:   optest.Ops(optest.Range(1, 1, 4, 3), optest.F([]int{1, 6}, 1, 0, 0, 0, -1, 0)),
			Want: optest.Ops(optest.F([]int{1, 1, 4, 3}, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2))},
		optest.Case{Name: "several", Params: p, In: optest.Ops(random(2, 2, 3, 4, 5),
			random(3, 2, 6))},
		optest.Case{Name: "half", Params: p, In: optest.Ops(half(x), half(random(4, 1, 6)))})
}
