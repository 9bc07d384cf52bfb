package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestDeformableConvolution(t *testing.T) {
	type P = nn.DeformableConvolutionParams
	optest.Run(t, nn.DeformableConvolution.Op,
		optest.Case{Name: "offsets", Params: P{Kernel: []int{1, 1}, NumFilter: 1},
			In: []op.Tensor{count(1, 1, 2, 3), values(dtype.Shape{1, 2, 2, 3},
				0.25, 0.5, 0.25, -0.5, 0.75, -1.5, 0.5, -0.25, 0.5, -0.25, 0.25, -0.5),
				values(dtype.Shape{1, 1, 1, 1}, 2), vec(10)},
			// The last row and column are repeated; left of the image and above it are zeros.
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 3}, 12.5, 14.5, 15.5, 10, 18.5, 10)}},
		optest.Case{Name: "stride", Params: P{Kernel: []int{3, 2}, Stride: []int{2, 1},
			Pad: []int{1, 1}, NumFilter: 3},
			In: []op.Tensor{random(1, 2, 2, 5, 4), random(4, 2, 12, 3, 5), random(2, 3, 2, 3, 2),
				random(3, 3)}},
		optest.Case{Name: "groups", Params: P{Kernel: []int{2, 2}, Dilate: []int{2, 1}, NumFilter: 4,
			NumGroup: 2, NumDeformableGroup: 2, NoBias: true},
			In: []op.Tensor{random(1, 1, 4, 5, 4), random(4, 1, 16, 3, 3),
				random(2, 4, 2, 2, 2)}},
		optest.Case{Name: "half", Params: P{Kernel: []int{1, 1}, NumFilter: 1, NoBias: true},
			In: []op.Tensor{half(random(1, 1, 1, 3, 3)), half(random(2, 1, 2, 3, 3)),
				half(random(3, 1, 1, 1, 1))}})
}

func TestModulatedDeformableConvolution(t *testing.T) {
	type P = nn.ModulatedDeformableConvolutionParams
	optest.Run(t, nn.ModulatedDeformableConvolution.Op,
		optest.Case{Name: "masks", Params: P{Kernel: []int{1, 1}, NumFilter: 1},
			In: []op.Tensor{count(1, 1, 1, 3), values(dtype.Shape{1, 2, 1, 3}, -0.5, 0.25, 0.25,
				0.5, 0.25, 0.5), values(dtype.Shape{1, 1, 1, 3}, 4, 3, 2),
				values(dtype.Shape{1, 1, 1, 1}, 2), vec(10)},
			// Zeros surround the data.
			Want: []op.Tensor{values(dtype.Shape{1, 1, 1, 3}, 12, 15.625, 13)}},
		optest.Case{Name: "stride", Params: P{Kernel: []int{3, 2}, Stride: []int{2, 1},
			Pad: []int{1, 1}, NumFilter: 3},
			In: []op.Tensor{random(1, 2, 2, 5, 4), random(4, 2, 12, 3, 5), random(5, 2, 6, 3, 5),
				random(2, 3, 2, 3, 2), random(3, 3)}},
		optest.Case{Name: "groups", Params: P{Kernel: []int{2, 2}, Dilate: []int{2, 1}, NumFilter: 4,
			NumGroup: 2, NumDeformableGroup: 2, NoBias: true},
			In: []op.Tensor{random(1, 1, 4, 5, 4), random(4, 1, 16, 3, 3), random(5, 1, 8, 3, 3),
				random(2, 4, 2, 2, 2)}})
}

func TestDeformableConvolutionInfersShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "forward", op: nn.ModulatedDeformableConvolution.Op, attrs: "kernel=(3,3) " +
			"stride=(2,2) pad=(1,1) num_filter=8 num_deformable_group=2",
			in: []dtype.Shape{{5, 4, 9, 8}, nil, nil, nil, nil}, out: []dtype.Shape{nil},
			wantIn: []dtype.Shape{{5, 4, 9, 8}, {5, 36, 5, 4}, {5, 18, 5, 4}, {8, 4, 3, 3},
				{8}},
			wantOut: []dtype.Shape{{5, 8, 5, 4}}},
	})
}
