package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestImageToTensor(t *testing.T) {
	optest.Run(t, vision.ImageToTensor.Op,
		optest.Case{Name: "bytes", In: optest.Ops(optest.Array(dtype.Uint8, []int{1, 2, 3}, 0, 51,
			102, 153, 204, 255)),
			Want: optest.Ops(optest.F([]int{3, 1, 2}, 0, .6, .2, .8, .4, 1))},
		optest.Case{Name: "several", In: optest.Ops(optest.Range(2, 1, 2, 1)), NoDiff: true,
			Want:     optest.Ops(optest.F([]int{2, 1, 1, 2}, 0, 1./255, 2./255, 3./255)),
			Heads:    optest.Ops(optest.F([]int{2, 1, 1, 2}, 255, 510, 0, 255)),
			WantGrad: optest.Ops(optest.F([]int{2, 1, 2, 1}, 1, 2, 0, 1))})
	optest.Run(t, op.Lookup("_backward_image_to_tensor"), optest.Case{NoDiff: true,
		In: optest.Ops(random(1, 3, 4, 5), random(2, 4, 5, 3))})
}

func TestImageNormalize(t *testing.T) {
	type P = vision.ImageNormalizeParams
	x := optest.Range(3, 1, 2)
	optest.Run(t, vision.ImageNormalize.Op,
		optest.Case{Name: "per channel", Params: P{Mean: []float64{0, 1, 2},
			Std: []float64{1, 2, 4}}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{3, 1, 2}, 0, 1, .5, 1, .5, .75))},
		optest.Case{Name: "one for all", Params: P{Mean: []float64{1}, Std: []float64{2}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{3, 1, 2}, -.5, 0, .5, 1, 1.5, 2))},
		optest.Case{Name: "default", In: optest.Ops(x), Want: optest.Ops(x)},
		optest.Case{Name: "bytes", Params: P{Mean: []float64{1}, Std: []float64{2}},
			In:   optest.Ops(optest.Array(dtype.Uint8, []int{1, 1, 2}, 20, 40)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{1, 1, 2}, 9, 19))},
		optest.Case{Name: "several", Params: P{Mean: []float64{.5, .4, .3}, Std: []float64{.2, .3,
			.4}}, In: optest.Ops(random(1, 2, 3, 2, 3))})
	runHidden(t, "_backward_image_normalize", "std=(1,2,4)", random(1, 2, 3, 2, 2))
}
