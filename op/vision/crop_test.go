package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestCrop(t *testing.T) {
	type P = vision.CropParams
	x := optest.Range(1, 1, 3, 4)
	optest.Run(t, vision.Crop.Op,
		optest.Case{Name: "offset", Params: P{HW: []int{2, 2}, Offset: []int{1, 2}},
			In: optest.Ops(x), Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 6, 7, 10, 11))},
		optest.Case{Name: "middle", Params: P{HW: []int{1, 2}, CenterCrop: true}, In: optest.Ops(x),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 2}, 5, 6))},
		optest.Case{Name: "like another", Params: P{Offset: []int{0, 1}},
			In: optest.Ops(x, optest.Array(dtype.Float32, []int{5, 2, 2, 1}, 0)), Const: []int{1},
			Want:  optest.Ops(optest.F([]int{1, 1, 2, 1}, 1, 5)),
			Heads: optest.Ops(optest.F([]int{1, 1, 2, 1}, 3, 4)),
			WantGrad: optest.Ops(optest.F([]int{1, 1, 3, 4}, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0),
				optest.F([]int{5, 2, 2, 1}, 0))},
		optest.Case{Name: "integers", Params: P{HW: []int{1, 1}},
			In:   optest.Ops(optest.Array(dtype.Int64, []int{1, 1, 1, 2}, 1<<53, 1)),
			Want: optest.Ops(optest.Array(dtype.Int64, []int{1, 1, 1, 1}, 1<<53))},
		optest.Case{Name: "several", Params: P{HW: []int{2, 3}, Offset: []int{1, 0}},
			In: []op.Tensor{random(1, 2, 3, 4, 4)}})
	runHidden(t, "_backward_Crop", "h_w=(2,2); offset=(1,1); num_args=1", random(1, 1, 2, 2, 2),
		random(2, 1, 2, 3, 3))
	runHidden(t, "_backward_Crop", "center_crop=1; num_args=2", random(1, 1, 2, 2, 2),
		random(2, 1, 2, 3, 3))
}
