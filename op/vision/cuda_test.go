//go:build cuda

package vision_test

import (
	"testing"

	_ "gomx/device/cuda"
	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// boxes makes rows of a class, a score and the corners of boxes of some size.
func boxes(n int) op.Tensor {
	t := optest.Random(7, 0, 1, n, 6)
	v := op.Slice[float32](t)
	for i := range n {
		row := v[6*i:]
		row[0] = float32(int(row[0] * 3))
		row[4], row[5] = row[2]+0.1+row[4]/4, row[3]+0.1+row[5]/4
	}
	return t
}

// TestCUDAManyBoxes has more boxes than a block has threads.
func TestCUDAManyBoxes(t *testing.T) {
	optest.Run(t, vision.BoxNMS.Op, optest.Case{Params: vision.BoxNMSParams{OverlapThresh: op.Some(
		0.3), IDIndex: op.Some(0)}, In: []op.Tensor{boxes(400)}, NoDiff: true},
		optest.Case{Params: vision.BoxNMSParams{ForceSuppress: true, TopK: op.Some(50)},
			In: []op.Tensor{boxes(300)}, NoDiff: true})
}

// TestCUDAImages reads larger images at many points, so that elements are read again and again.
func TestCUDAImages(t *testing.T) {
	x := optest.Random(1, -1, 1, 2, 3, 13, 17)
	optest.Run(t, vision.BilinearSampler.Op,
		optest.Case{In: []op.Tensor{x, optest.Random(2, -1.1, 1.1, 2, 2, 19, 11)}, NoDiff: true})
	for _, size := range [][2]int{{5, 40}, {29, 9}} {
		for _, centres := range []bool{false, true} {
			optest.Run(t, vision.BilinearResize2D.Op,
				optest.Case{Params: vision.BilinearResize2DParams{Height: size[0], Width: size[1],
					NoAlignCorners: centres}, In: []op.Tensor{x}, NoDiff: true})
		}
	}
	rois := optest.Array(dtype.Float32, []int{4, 5}, 0, 1, 1, 12, 9, 1, 0, 3, 16, 12, 1, 5.5, 2.25,
		9, 11.5, 0, -2, -1, 20, 14)
	optest.Run(t, vision.ROIAlign.Op, optest.Case{Params: vision.ROIAlignParams{PooledSize: []int{5,
		4}, SpatialScale: 0.9, SampleRatio: op.Some(2)}, In: []op.Tensor{x, rois}, Const: []int{1},
		NoDiff: true},
		optest.Case{Params: vision.ROIAlignParams{PooledSize: []int{3, 3}, SpatialScale: 1},
			In: []op.Tensor{x, rois}, Const: []int{1}, NoDiff: true})
	optest.Run(t, vision.ROIPooling.Op, optest.Case{Params: vision.ROIPoolingParams{PooledSize: []int{4, 3}, SpatialScale: 0.7}, In: []op.Tensor{x, rois}, Const: []int{1}, NoDiff: true})
}
