package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestConvolution(t *testing.T) {
	type P = nn.ConvolutionParams
	optest.Run(t, nn.Convolution.Op,
		optest.Case{Name: "values", Params: P{Kernel: []int{2, 2}, NumFilter: 1},
			In: []op.Tensor{count(1, 1, 3, 3), values(dtype.Shape{1, 1, 2, 2}, 1, 0, 0, -1),
				vec(10)},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 2}, 6, 6, 6, 6)}},
		optest.Case{Name: "padding", Params: P{Kernel: []int{3}, Pad: []int{1}, NumFilter: 1,
			NoBias: true},
			In: []op.Tensor{values(dtype.Shape{1, 1, 4}, 1, 2, 3, 4), values(dtype.Shape{1, 1, 3},
				1, 10, 100)},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 4}, 210, 321, 432, 43)}},
		optest.Case{Name: "half", Params: P{Kernel: []int{3}, Pad: []int{1}, NumFilter: 1,
			NoBias: true},
			In: []op.Tensor{half(values(dtype.Shape{1, 1, 4}, 1, 2, 3, 4)),
				half(values(dtype.Shape{1, 1, 3}, 1, 10, 100))},
			Want: []op.Tensor{half(values(dtype.Shape{1, 1, 4}, 210, 321, 432, 43))}},
		optest.Case{Name: "stride", Params: P{Kernel: []int{3, 2}, Stride: []int{2, 1},
			Pad: []int{1, 1}, NumFilter: 3},
			In: []op.Tensor{random(1, 2, 2, 5, 4), random(2, 3, 2, 3, 2), random(3, 3)}},
		optest.Case{Name: "dilate", Params: P{Kernel: []int{2, 3}, Dilate: []int{3, 2},
			Pad: []int{2, 1}, NumFilter: 2, NoBias: true},
			In: []op.Tensor{random(1, 1, 2, 5, 6), random(2, 2, 2, 2, 3)}},
		optest.Case{Name: "groups", Params: P{Kernel: []int{2, 2}, NumGroup: 2, NumFilter: 6},
			In: []op.Tensor{random(1, 2, 4, 3, 3), random(2, 6, 2, 2, 2), random(3, 6)}},
		optest.Case{Name: "depthwise", Params: P{Kernel: []int{3, 3}, Pad: []int{1, 1}, NumGroup: 3,
			NumFilter: 3},
			In: []op.Tensor{random(1, 1, 3, 4, 4), random(2, 3, 1, 3, 3), random(3, 3)}},
		optest.Case{Name: "one axis", Params: P{Kernel: []int{4}, Stride: []int{2},
			Dilate: []int{2}, Pad: []int{3}, NumFilter: 2},
			In: []op.Tensor{random(1, 2, 3, 9), random(2, 2, 3, 4), random(3, 2)}},
		optest.Case{Name: "three axes", Params: P{Kernel: []int{2, 1, 2}, Stride: []int{1, 2, 2},
			Pad: []int{1, 0, 1}, NumFilter: 2},
			In: []op.Tensor{random(1, 1, 2, 3, 3, 4), random(2, 2, 2, 2, 1, 2), random(3, 2)}},
	)
}

func TestConvolutionInfersShapes(t *testing.T) {
	conv := nn.Convolution.Op
	runInfer(t, []inferCase{
		{name: "forward", op: conv, attrs: "kernel=(3,3) stride=(2,2) pad=(1,1) num_filter=8 " +
			"num_group=2",
			in: []dtype.Shape{{5, 4, 9, 8}, nil, nil}, out: []dtype.Shape{nil},
			wantIn:  []dtype.Shape{{5, 4, 9, 8}, {8, 2, 3, 3}, {8}},
			wantOut: []dtype.Shape{{5, 8, 5, 4}}},
		{name: "nothing known", op: conv, attrs: "kernel=(3,) num_filter=8",
			in: []dtype.Shape{nil, nil, nil}, out: []dtype.Shape{nil},
			wantIn:  []dtype.Shape{{-1, -1, -1}, {8, -1, 3}, {8}},
			wantOut: []dtype.Shape{{-1, 8, -1}}},
		{name: "backward with stride one", op: conv, attrs: "kernel=(3,3) pad=(1,0) num_filter=8",
			in: []dtype.Shape{nil, {-1, 2, -1, -1}, nil}, out: []dtype.Shape{{5, -1, 7, 7}},
			wantIn:  []dtype.Shape{{5, 2, 7, 9}, {8, 2, 3, 3}},
			wantOut: []dtype.Shape{{5, 8, 7, 7}}},
		{name: "kernel too large", op: conv, attrs: "kernel=(5,5) num_filter=8",
			in: []dtype.Shape{{5, 4, 9, 4}, nil, nil}, out: []dtype.Shape{nil},
			err: "the kernel reaches over 5 elements of axis 3, which has 4"},
		{name: "too few axes", op: conv, attrs: "kernel=(5,5) num_filter=8",
			in: []dtype.Shape{{5, 4, 9}, nil, nil}, out: []dtype.Shape{nil},
			err: "data: shape (5, 4, 9)"},
		{name: "groups", op: conv, attrs: "kernel=(1,1) num_filter=8 num_group=4",
			in: []dtype.Shape{{5, 6, 9, 4}, nil, nil}, out: []dtype.Shape{nil},
			err: "6 channels, want a multiple of num_group 4"},
		{name: "stride", op: conv, attrs: "kernel=(1,1) num_filter=8 stride=(2,)",
			in: []dtype.Shape{nil, nil, nil}, out: []dtype.Shape{nil},
			err: "stride: [2], want 2 numbers"},
		{name: "layout", op: conv, attrs: "kernel=(1,1) num_filter=8 layout=NHWC",
			in: []dtype.Shape{nil, nil, nil}, out: []dtype.Shape{nil}, err: "layout: NHWC"},
	})
}

func TestConvolutionAcceptsMXNetAttributes(t *testing.T) {
	p, err := op.Lookup("Convolution_v1").ParseParams(map[string]string{"kernel": "(5L, 5L)",
		"num_filter": "20", "workspace": "512",
		"cudnn_tune": "off", "cudnn_off": "True", "layout": "NCHW", "no_bias": "0", "stride": "()",
		"dilate": "[1, 1]"})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.(nn.ConvolutionParams); got.Kernel[1] != 5 || got.Workspace.Value() != 512 ||
		got.NoBias || got.NumGroup != 1 {
		t.Errorf("got %+v", got)
	}
}
