package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestImageCrop(t *testing.T) {
	type P = vision.ImageCropParams
	optest.Run(t, vision.ImageCrop.Op,
		optest.Case{Name: "one image", Params: P{X: 1, Y: 0, Width: 2, Height: 1},
			In: optest.Ops(optest.Range(2, 4, 3)), Want: optest.Ops(optest.F([]int{1, 2, 3}, 3, 4,
				5, 6, 7, 8))},
		optest.Case{Name: "several", Params: P{X: 0, Y: 1, Width: 1, Height: 1},
			In: optest.Ops(optest.Range(2, 2, 2, 1)), Want: optest.Ops(optest.F([]int{2, 1, 1, 1},
				2, 6))}, optest.Case{Name: "bytes", Params: P{X: 1, Y: 1, Width: 1, Height: 1},
			In:   optest.Ops(optest.Array(dtype.Uint8, []int{2, 2, 1}, 1, 2, 3, 4)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{1, 1, 1}, 4))})
	runHidden(t, "_backward_image_crop", "x=1; y=0; width=2; height=1", random(1, 1, 2, 3),
		random(2, 2, 4, 3))
}
