package vision_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op/vision"
)

// TestROIAlignEndsOnHugeRegions gives a region whose samples could not be visited in a lifetime.
func TestROIAlignEndsOnHugeRegions(t *testing.T) {
	p, err := vision.ROIAlign.Normalize(vision.ROIAlignParams{PooledSize: []int{2, 2},
		SpatialScale: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(vision.ROIAlign.Op, p, optest.Ops(optest.F([]int{1, 1, 4, 4}, 1),
		optest.F([]int{1, 5}, 0, 0, 0, 1e30, 1e30)))
	if err == nil || !strings.Contains(err.Error(), "samples along a part") {
		t.Errorf("got %v, want an error about the number of samples", err)
	}
}
