package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestImageFlip(t *testing.T) {
	bytes := optest.Array(dtype.Uint8, []int{2, 2, 1}, 1, 2, 3, 4)
	optest.Run(t, vision.ImageFlipLeftRight.Op,
		optest.Case{Name: "odd width", In: optest.Ops(optest.Range(1, 3, 3)),
			Want: optest.Ops(optest.F([]int{1, 3, 3}, 6, 7, 8, 3, 4, 5, 0, 1, 2))},
		optest.Case{Name: "bytes", In: optest.Ops(bytes),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{2, 2, 1}, 2, 1, 4, 3))})
	optest.Run(t, vision.ImageFlipTopBottom.Op,
		optest.Case{Name: "three rows", In: optest.Ops(optest.Range(3, 1, 3)),
			Want: optest.Ops(optest.F([]int{3, 1, 3}, 6, 7, 8, 3, 4, 5, 0, 1, 2))},
		optest.Case{Name: "bytes", In: optest.Ops(bytes),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{2, 2, 1}, 3, 4, 1, 2))})
}
