package vision_test

import (
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestMultiBoxPrior(t *testing.T) {
	type P = vision.MultiBoxPriorParams
	x := optest.F([]int{1, 3, 1, 2}, 0)
	optest.Run(t, vision.MultiBoxPrior.Op,
		optest.Case{Name: "default", NoDiff: true, In: optest.Ops(x),
			Want:  optest.Ops(optest.F([]int{1, 2, 4}, 0, 0, .5, 1, .5, 0, 1, 1)),
			Heads: optest.Ops(optest.F([]int{1, 2, 4}, 1)), WantGrad: optest.Ops(x)},
		optest.Case{Name: "sizes and ratios", NoDiff: true, Params: P{Sizes: []float64{.5, .25},
			Ratios: []float64{1, 4}}, In: optest.Ops(optest.F([]int{1, 1, 1, 1}, 0)),
			Want: optest.Ops(optest.F([]int{1, 3, 4}, .25, .25, .75, .75, .375, .375, .625, .625, 0,
				.375, 1, .625))},
		optest.Case{Name: "steps and offsets", NoDiff: true, Params: P{Sizes: []float64{.2},
			Steps: []float64{.5, .25}, Offsets: []float64{1, 0}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 2, 4}, -.05, .4, .05, .6, .2, .4, .3, .6))},
		optest.Case{Name: "clipped", NoDiff: true, Params: P{Sizes: []float64{.2},
			Steps: []float64{.5, .25}, Offsets: []float64{1, 0}, Clip: true},
			In:   optest.Ops(half(x)),
			Want: optest.Ops(half(optest.F([]int{1, 2, 4}, 0, .4, .05, .6, .2, .4, .3, .6)))})
}
