package vision_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestROIPooling(t *testing.T) {
	type P = vision.ROIPoolingParams
	x := optest.Range(1, 1, 8, 6)
	roi := optest.F([]int{1, 5}, 0, 0, 0, 4, 4)
	two := []int{2, 2}
	optest.Run(t, vision.ROIPooling.Op,
		optest.Case{Name: "whole coordinates", Params: P{two, 1}, In: optest.Ops(x, roi),
			Const: []int{1},
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 14, 16, 26, 28), optest.Array(dtype.Int64,
				[]int{1, 1, 2, 2}, 14, 16, 26, 28)),
			Heads: optest.Ops(optest.F([]int{1, 1, 2, 2}, 1, 2, 3, 4))},
		optest.Case{Name: "scaled", Params: P{two, 0.7}, In: optest.Ops(x, roi), Const: []int{1},
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 7, 9, 19, 21))},
		optest.Case{Name: "half", Params: P{two, 1}, In: optest.Ops(half(x), half(roi)),
			Const: []int{1},
			Want:  optest.Ops(half(optest.F([]int{1, 1, 2, 2}, 14, 16, 26, 28)))},
		optest.Case{Name: "outside", Params: P{two, 1}, Const: []int{1},
			In: optest.Ops(random(1, 2, 1, 3, 3), optest.F([]int{4, 5}, 2, 0, 0, 1, 1, -1, 0, 0,
				1, 1, 0, 7, 7, 9, 9, 0, 1e30, 0, math.NaN(), 1)),
			Want: optest.Ops(optest.F([]int{4, 1, 2, 2}, 0), optest.Array(dtype.Int64,
				[]int{4, 1, 2, 2}, -1))},
		optest.Case{Name: "exchanged corners are one element", Params: P{two, 1}, Const: []int{1},
			In:   optest.Ops(optest.Range(1, 1, 3, 3), optest.F([]int{1, 5}, 0, 2, 1, 0, 0)),
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 5))},
		// 5·0.7 is 3.5 there
		optest.Case{Name: "rounding in float32", Params: P{[]int{1, 1}, 0.7}, Const: []int{1},
			In:   optest.Ops(optest.Range(1, 1, 1, 6), optest.F([]int{1, 5}, 0, 0, 0, 5, 0)),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 4))},
		optest.Case{Name: "several", Params: P{[]int{3, 2}, 0.5}, Const: []int{1},
			In: optest.Ops(random(1, 2, 3, 5, 6), optest.F([]int{3, 5}, 0, 0, 0, 9, 9, 1, 2, 3, 7,
				5, 0, 4, -3, 20, 8))})
	runHidden(t, "_backward_ROIPooling", "pooled_size=(2,2); spatial_scale=1",
		random(2, 1, 1, 2, 2), optest.Array(dtype.Int64, []int{1, 1, 2, 2}, 1, -1, 1, 0),
		random(3, 1, 1, 2, 3))
}

func TestROIPoolingAddsGradients(t *testing.T) {
	optest.Run(t, vision.ROIPooling.Op, optest.Case{Name: "overlapping regions",
		Params: vision.ROIPoolingParams{PooledSize: []int{1, 1}, SpatialScale: 1},
		In: []op.Tensor{optest.Range(1, 1, 2, 2), optest.F([]int{2, 5}, 0, 0, 0, 1, 1, 0, 1,
			1, 1, 1)},
		Const:    []int{1},
		Heads:    optest.Ops(optest.F([]int{2, 1, 1, 1}, 10, 1)),
		WantGrad: optest.Ops(optest.F([]int{1, 1, 2, 2}, 0, 0, 0, 11), op.Tensor{})})
}
