package vision_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

func TestROIAlign(t *testing.T) {
	type P = vision.ROIAlignParams
	rois := optest.F([]int{3, 5}, 0, 0.3, 0.7, 9.1, 8.2, 1, 2, 3, 7, 5, 1, -4, -3, 20, 8)
	x := random(1, 2, 4, 5, 6)
	optest.Run(t, vision.ROIAlign.Op,
		optest.Case{Name: "centres", Params: P{PooledSize: []int{2, 2}, SpatialScale: 1,
			SampleRatio: op.Some(1)}, Const: []int{1},
			In:   optest.Ops(optest.Range(1, 1, 4, 4), optest.F([]int{1, 5}, 0, 0, 0, 2, 2)),
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 2.5, 3.5, 6.5, 7.5))},
		optest.Case{Name: "aligned", Params: P{PooledSize: []int{2, 2}, SpatialScale: 1,
			SampleRatio: op.Some(1), Aligned: true}, Const: []int{1},
			In:   optest.Ops(optest.Range(1, 1, 4, 4), optest.F([]int{1, 5}, 0, 0, 0, 2, 2)),
			Want: optest.Ops(optest.F([]int{1, 1, 2, 2}, 0, 1, 4, 5))},
		optest.Case{Name: "as many samples as fit", Params: P{PooledSize: []int{3, 2},
			SpatialScale: 0.5}, In: optest.Ops(x, rois), Const: []int{1}},
		optest.Case{Name: "two samples", Params: P{PooledSize: []int{2, 3}, SpatialScale: 1,
			SampleRatio: op.Some(2)}, In: optest.Ops(x, rois), Const: []int{1}},
		optest.Case{Name: "position sensitive", Params: P{PooledSize: []int{2, 2},
			SpatialScale: 0.5, PositionSensitive: true}, In: optest.Ops(x, rois), Const: []int{1}},
		optest.Case{Name: "images that data does not have", Params: P{PooledSize: []int{1, 1},
			SpatialScale: 1}, Const: []int{1},
			In:   optest.Ops(x, optest.F([]int{2, 5}, -1, 0, 0, 3, 3, 2, 0, 0, 3, 3)),
			Want: optest.Ops(optest.F([]int{2, 4, 1, 1}, 0))},
		optest.Case{Name: "no elements", Params: P{PooledSize: []int{1, 1}, SpatialScale: 1,
			SampleRatio: op.Some(1)}, Const: []int{1},
			In:   optest.Ops(optest.F([]int{1, 1, 0, 3}), optest.F([]int{1, 5}, 0, 0, 0, 2, 2)),
			Want: optest.Ops(optest.F([]int{1, 1, 1, 1}, 0))},
		optest.Case{Name: "half", Params: P{PooledSize: []int{1, 1}, SpatialScale: 1,
			SampleRatio: op.Some(1)}, Const: []int{1},
			In: optest.Ops(half(optest.Range(1, 1, 3, 3)),
				half(optest.F([]int{1, 5}, 0, 0, 0, 2, 2))),
			Want: optest.Ops(half(optest.F([]int{1, 1, 1, 1}, 4)))})
	optest.Run(t, op.Lookup("_backward_ROIAlign"),
		optest.Case{Attrs: attrs("pooled_size=(2,2); spatial_scale=1"), Const: []int{1},
			In: optest.Ops(random(2, 3, 4, 2, 2), rois, x)})
}

func TestROIAlignWantsExtent(t *testing.T) {
	p, err := vision.ROIAlign.Normalize(vision.ROIAlignParams{PooledSize: []int{2, 2},
		SpatialScale: 1, Aligned: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(vision.ROIAlign.Op, p, optest.Ops(random(1, 1, 1, 3, 3),
		optest.F([]int{1, 5}, 0, 2, 2, 1, 1)))
	if err == nil || !strings.Contains(err.Error(), "want an extent above 0") {
		t.Errorf("got error %v for exchanged corners, want one about the extent", err)
	}
}
