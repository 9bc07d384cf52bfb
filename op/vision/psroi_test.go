package vision_test

import (
	"math"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestPSROIPooling(t *testing.T) {
	type P = vision.PSROIPoolingParams
	x := optest.Range(1, 4, 4, 4) // channel c begins with 16·c
	// Parts of two rows and two columns; part (i, j) reads channel 2·i + j.
	whole := optest.F([]int{1, 5}, 0, 0, 0, 3, 3)
	optest.Run(t, vision.PSROIPooling.Op,
		optest.Case{Name: "a channel for each part", Params: P{SpatialScale: 1, OutputDim: 1,
			PooledSize: 2}, In: optest.Ops(x, whole), Const: []int{1},
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 2.5, 20.5, 42.5, 60.5))},
		optest.Case{Name: "one channel for all parts", Params: P{SpatialScale: 1, OutputDim: 3,
			PooledSize: 2, GroupSize: 1}, In: optest.Ops(x, whole), Const: []int{1},
			Want: optest.Ops(optest.F([]int{1, 3, 2, 2}, 2.5, 4.5, 10.5, 12.5, 18.5, 20.5, 26.5,
				28.5, 34.5, 36.5, 42.5, 44.5))},
		// The ends are 0.5·round(0.6) = 0.5 and 0.5·(round(4.4) + 1) = 2.5; a part that begins
		// within an element takes all of it.
		optest.Case{Name: "rounded, then scaled", Params: P{SpatialScale: 0.5, OutputDim: 1,
			PooledSize: 1}, Const: []int{1},
			In:   optest.Ops(optest.Range(1, 1, 4, 4), optest.F([]int{1, 5}, 0, 0.6, 0.6, 4.4, 4.4)),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 5))},
		optest.Case{Name: "outside", Params: P{SpatialScale: 1, OutputDim: 1, PooledSize: 1},
			Const: []int{1}, In: optest.Ops(random(1, 2, 1, 3, 3), optest.F([]int{4, 5}, 2, 0, 0, 1,
				1, -1, 0, 0, 1, 1, 0, 7, 7, 9, 9, math.NaN(), 0, 0, 1, 1)),
			Want: optest.Ops(optest.F([]int{4, 1, 1, 1}, 0))},
		optest.Case{Name: "half", Params: P{SpatialScale: 1, OutputDim: 1, PooledSize: 2},
			In: optest.Ops(half(x), half(whole)), Const: []int{1},
			Want: optest.Ops(half(optest.F([]int{1, 1, 2, 2}, 2.5, 20.5, 42.5, 60.5)))},
		optest.Case{Name: "several", Params: P{SpatialScale: 0.5, OutputDim: 2, PooledSize: 3,
			GroupSize: 2}, Const: []int{1},
			In: optest.Ops(random(1, 2, 9, 5, 6), optest.F([]int{3, 5}, 0, 0, 0, 9, 9, 1, 2, 3, 7,
				5, 0, 4, -3, 20, 8))})
	optest.Run(t, op.Lookup("_backward__contrib_PSROIPooling"),
		optest.Case{Attrs: attrs("pooled_size=2; output_dim=1; spatial_scale=1"), Const: []int{1},
			In: optest.Ops(random(2, 1, 1, 2, 2), whole, x)})
}

func TestDeformablePSROIPooling(t *testing.T) {
	type P = vision.DeformablePSROIPoolingParams
	x := optest.Range(1, 1, 4, 4)
	// From -0.5 to 3.5: samples lie at -0.5, which becomes 0, and 1.5.
	whole := optest.F([]int{1, 5}, 0, 0, 0, 3, 3)
	several := optest.F([]int{3, 5}, 0, 0, 0, 9, 9, 1, 2, 3, 7, 5, 0, 4, -3, 20, 8)
	optest.Run(t, vision.DeformablePSROIPooling.Op,
		optest.Case{Name: "parts at rest", Params: P{SpatialScale: 1, OutputDim: 1, GroupSize: 1,
			PooledSize: 2, NoTrans: true}, In: optest.Ops(x, whole), Const: []int{1},
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 0, 1.5, 6, 7.5))},
		optest.Case{Name: "two samples", Params: P{SpatialScale: 1, OutputDim: 1, GroupSize: 1,
			PooledSize: 1, SamplePerPart: 2, NoTrans: true}, In: optest.Ops(x, whole),
			Const: []int{1}, Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 3.75))},
		// By 0.5 · 0.5 of the width 4 to the right, and by -0.25 · 0.5 of the height up.
		optest.Case{Name: "moved", Params: P{SpatialScale: 1, OutputDim: 1, GroupSize: 1,
			PooledSize: 2, PartSize: 1, TransStd: 0.5}, Const: []int{1},
			In: optest.Ops(x, whole, optest.F([]int{1, 2, 1, 1}, 0.5, -0.25)), NoDiff: true,
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 0, 0, 4.5, 6.5))},
		optest.Case{Name: "outside", Params: P{SpatialScale: 1, OutputDim: 1, GroupSize: 1,
			PooledSize: 1, NoTrans: true}, Const: []int{1},
			In: optest.Ops(random(1, 2, 1, 3, 3), optest.F([]int{4, 5}, 2, 0, 0, 1, 1, -1, 0, 0, 1,
				1, 0, 7, 7, 9, 9, 0, math.NaN(), 0, 1, 1)),
			Want: optest.Ops(optest.F([]int{4, 1, 1, 1}, 0))},
		optest.Case{Name: "classes", Params: P{SpatialScale: 0.5, OutputDim: 4, GroupSize: 2,
			PooledSize: 3, PartSize: 2, SamplePerPart: 2, TransStd: 0.1}, Const: []int{1},
			In: optest.Ops(random(1, 2, 16, 5, 6), several, random(2, 3, 4, 2, 2))},
		optest.Case{Name: "half", Params: P{SpatialScale: 1, OutputDim: 1, GroupSize: 1,
			PooledSize: 2, NoTrans: true}, In: optest.Ops(half(x), half(whole)), Const: []int{1},
			Want: optest.Ops(half(optest.F([]int{1, 1, 2, 2}, 0, 1.5, 6, 7.5)))})
}

func TestRROIAlign(t *testing.T) {
	type P = vision.RROIAlignParams
	x := optest.Range(1, 1, 4, 4)
	two := []int{2, 2}
	upright := optest.F([]int{1, 4}, 3.75, 4.75, 7.75, 8.75)
	upright.Desc = op.Plain(upright.DType, []int{1, 1, 2, 2})
	optest.Run(t, vision.RROIAlign.Op,
		optest.Case{Name: "upright", Params: P{PooledSize: two, SpatialScale: 1,
			SamplingRatio: op.Some(1)}, NoDiff: true,
			In:   optest.Ops(x, optest.F([]int{1, 6}, 0, 1.25, 1.25, 2, 2, 0)),
			Want: optest.Ops(upright)},
		// The first part, which was up and left, is down and left after a quarter turn.
		optest.Case{Name: "a quarter turn", Params: P{PooledSize: two, SpatialScale: 1,
			SamplingRatio: op.Some(1)}, NoDiff: true,
			In:   optest.Ops(x, optest.F([]int{1, 6}, 0, 1.25, 1.25, 2, 2, 90)),
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 7.75, 3.75, 8.75, 4.75))},
		optest.Case{Name: "outside", Params: P{PooledSize: []int{1, 1}, SpatialScale: 1},
			NoDiff: true, In: optest.Ops(random(1, 2, 1, 3, 3), optest.F([]int{3, 6}, 2, 1, 1, 1, 1,
				0, -1, 1, 1, 1, 1, 0, 0, 9, 9, 2, 2, 30)),
			Want: optest.Ops(optest.F([]int{3, 1, 1, 1}, 0))},
		optest.Case{Name: "as many samples as fit", Params: P{PooledSize: []int{2, 3},
			SpatialScale: 0.5}, NoDiff: true, In: optest.Ops(random(1, 2, 3, 5, 6),
			optest.F([]int{3, 6}, 0, 5, 4, 9, 3, 31, 1, 2, 3, 0.5, 5, -120, 0, 4, -3, 20, 8, 77))},
		optest.Case{Name: "half", Params: P{PooledSize: two, SpatialScale: 1,
			SamplingRatio: op.Some(1)}, NoDiff: true,
			In:   optest.Ops(half(x), half(optest.F([]int{1, 6}, 0, 1.25, 1.25, 2, 2, 0))),
			Want: optest.Ops(half(upright))})
}
