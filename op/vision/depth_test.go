package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op/vision"
)

func TestDepthToSpace(t *testing.T) {
	p := vision.BlockParams{BlockSize: 2}
	deep, wide := optest.Range(1, 4, 2, 2), optest.F([]int{1, 1, 4, 4}, 0, 4, 1, 5, 8, 12, 9, 13, 2,
		6, 3, 7, 10, 14, 11, 15)
	optest.Run(t, vision.DepthToSpace.Op,
		optest.Case{Name: "one channel", Params: p, In: optest.Ops(deep), Want: optest.Ops(wide)},
		optest.Case{Name: "several", Params: p, In: optest.Ops(random(1, 2, 12, 2, 3))},
		optest.Case{Name: "nothing to do", Params: vision.BlockParams{BlockSize: 1},
			In: optest.Ops(deep), Want: optest.Ops(deep)})
	optest.Run(t, vision.SpaceToDepth.Op,
		optest.Case{Name: "one channel", Params: p, In: optest.Ops(wide), Want: optest.Ops(deep)},
		optest.Case{Name: "bytes", Params: vision.BlockParams{BlockSize: 3},
			In: optest.Ops(optest.Array(dtype.Uint8, []int{1, 1, 3, 3}, 0, 1, 2, 3, 4, 5, 6, 7, 8)),
			Want: optest.Ops(optest.Array(dtype.Uint8, []int{1, 9, 1, 1}, 0, 1, 2, 3, 4, 5, 6, 7,
				8))},
		optest.Case{Name: "several", Params: p, In: optest.Ops(random(1, 2, 3, 4, 6))})
}
