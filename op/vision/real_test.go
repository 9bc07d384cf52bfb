package vision_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// TestPrecisions runs one operator in every element type: half precision is computed in float32 and
// rounded once.
func TestPrecisions(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6}
	for _, typ := range []dtype.Type{dtype.Float64, dtype.Float32, dtype.Float16, dtype.BFloat16} {
		optest.Run(t, vision.AdaptiveAvgPooling2D.Op, optest.Case{Name: typ.String(), NoDiff: true,
			Attrs: attrs("output_size=(1,2)"),
			In:    optest.Ops(optest.Array(typ, []int{1, 1, 2, 3}, x...)),
			Want:  optest.Ops(optest.Array(typ, []int{1, 1, 1, 2}, 3, 4))})
	}
}

// TestParametersAreFloat32 has a score that equals its threshold in float32 only.
func TestParametersAreFloat32(t *testing.T) {
	row := []float64{0.1, 0, 0, 1, 1}
	for typ, want := range map[dtype.Type]float64{dtype.Float32: -1, dtype.Float64: -1} {
		optest.Run(t, vision.BoxNMS.Op, optest.Case{Name: typ.String(), NoDiff: true,
			Params: vision.BoxNMSParams{CoordStart: op.Some(1), ScoreIndex: op.Some(0),
				ValidThresh: 0.1},
			In:   optest.Ops(optest.Array(typ, []int{1, 5}, row...)),
			Want: optest.Ops(optest.Array(typ, []int{1, 5}, want))})
	}
}
