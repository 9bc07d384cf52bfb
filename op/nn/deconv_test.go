package nn_test

import (
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestDeconvolution(t *testing.T) {
	type P = nn.DeconvolutionParams
	x, w := values(dtype.Shape{1, 1, 2}, 1, 2), values(dtype.Shape{1, 1, 3}, 1, 10, 100)
	optest.Run(t, nn.Deconvolution.Op,
		optest.Case{Name: "values", Params: P{Kernel: []int{3}, NumFilter: 1},
			In:   []op.Tensor{x, w},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 4}, 1, 12, 120, 200)}},
		optest.Case{Name: "stride and adj", Params: P{Kernel: []int{3}, Stride: []int{2},
			Pad: []int{1}, Adj: []int{1}, NumFilter: 1}, In: []op.Tensor{x, w},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 4}, 10, 102, 20, 200)}},
		optest.Case{Name: "dilate", Params: P{Kernel: []int{3}, Dilate: []int{2}, Stride: []int{2},
			NumFilter: 1, NoBias: op.Some(false)}, In: []op.Tensor{x, w, vec(5)},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 7}, 6, 5, 17, 5, 125, 5, 205)}},
		optest.Case{Name: "target", Params: P{Kernel: []int{4, 4}, Stride: []int{2, 2},
			TargetShape: []int{5, 6}, NumFilter: 2, NoBias: op.Some(false)},
			In: []op.Tensor{random(1, 1, 3, 3, 3), random(2, 3, 2, 4, 4), random(3, 2)}},
		optest.Case{Name: "groups", Params: P{Kernel: []int{2, 3}, Stride: []int{2, 1},
			Pad: []int{0, 1}, NumFilter: 4, NumGroup: 2},
			In: []op.Tensor{random(1, 2, 4, 2, 3), random(2, 4, 2, 2, 3)}},
		optest.Case{Name: "three axes", Params: P{Kernel: []int{2, 1, 2}, Stride: []int{1, 2, 2},
			Adj: []int{0, 1, 0}, NumFilter: 2},
			In: []op.Tensor{random(1, 1, 2, 2, 2, 2), random(2, 2, 2, 2, 1, 2)}},
	)
}

func TestDeconvolutionInfersShapes(t *testing.T) {
	o := nn.Deconvolution.Op
	runInfer(t, []inferCase{
		{name: "forward", op: o, attrs: "kernel=(4,4) stride=(2,2) pad=(1,1) num_filter=6 " +
			"num_group=2",
			in: []dtype.Shape{{2, 8, 5, 7}, nil}, out: []dtype.Shape{nil},
			wantIn:  []dtype.Shape{{2, 8, 5, 7}, {8, 3, 4, 4}},
			wantOut: []dtype.Shape{{2, 6, 10, 14}}},
		{name: "bias", op: o, attrs: "kernel=(4,) num_filter=6 no_bias=False",
			in: []dtype.Shape{nil, nil, nil}, out: []dtype.Shape{nil},
			wantIn:  []dtype.Shape{{-1, -1, -1}, {-1, 6, 4}, {6}},
			wantOut: []dtype.Shape{{-1, 6, -1}}},
		{name: "target", op: o, attrs: "kernel=(4,) target_shape=(30,) num_filter=6",
			in: []dtype.Shape{{1, 1, 5}, nil}, out: []dtype.Shape{nil},
			err: "target_shape: [30], but spatial axis 0 gives only 8"},
		{name: "adj", op: o, attrs: "kernel=(4,) adj=(1,) num_filter=6",
			in: []dtype.Shape{{1, 1, 5}, nil}, out: []dtype.Shape{nil},
			err: "adj: [1], want less than the stride"},
	})
}

func TestPad(t *testing.T) {
	x := count(1, 1, 2, 3)
	width := []int{0, 0, 0, 0, 1, 0, 1, 2}
	optest.Run(t, nn.Pad.Op,
		optest.Case{Name: "constant", Params: nn.PadParams{Mode: "constant", PadWidth: width,
			ConstantValue: 9}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 3, 6}, 9, 9, 9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 9,
				3, 4, 5, 9, 9)}},
		optest.Case{Name: "edge", Params: nn.PadParams{Mode: "edge", PadWidth: width},
			In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 3, 6}, 0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2, 3,
				3, 4, 5, 5, 5)}},
		optest.Case{Name: "reflect", Params: nn.PadParams{Mode: "reflect", PadWidth: width},
			In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 3, 6}, 4, 3, 4, 5, 4, 3, 1, 0, 1, 2, 1, 0, 4,
				3, 4, 5, 4, 3)}},
		optest.Case{Name: "five axes", Params: nn.PadParams{Mode: "reflect",
			PadWidth: []int{0, 0, 0, 0, 1, 1, 0, 1, 2, 0}},
			In: []op.Tensor{random(1, 1, 2, 2, 2, 3)}},
	)
	runInfer(t, []inferCase{
		{name: "backward", op: nn.Pad.Op, attrs: "mode=edge pad_width=(0,0,0,0,1,1,2,0)",
			in: []dtype.Shape{nil}, out: []dtype.Shape{{1, 2, 5, 6}},
			wantIn: []dtype.Shape{{1, 2, 3, 4}}},
		{name: "batch", op: nn.Pad.Op, attrs: "mode=edge pad_width=(1,0,0,0,1,1,2,0)",
			in: []dtype.Shape{nil}, out: []dtype.Shape{nil},
			err: "want zeros for the first two axes"},
		{name: "mirror", op: nn.Pad.Op, attrs: "mode=reflect pad_width=(0,0,0,0,3,0,0,0)",
			in: []dtype.Shape{{1, 1, 3, 3}}, out: []dtype.Shape{nil},
			err: "want less than the extents of data"},
	})
}

func TestUpSampling(t *testing.T) {
	type P = nn.UpSamplingParams
	x := values(dtype.Shape{1, 1, 1, 2}, 1, 2)
	optest.Run(t, nn.UpSampling.Op,
		optest.Case{Name: "nearest", Params: P{Scale: 2, SampleType: "nearest"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 4}, 1, 1, 2, 2, 1, 1, 2, 2)}},
		optest.Case{Name: "concat", Params: P{Scale: 2, SampleType: "nearest"},
			In: []op.Tensor{x, values(dtype.Shape{1, 1, 2, 2}, 3, 4, 5, 6)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2, 4}, 1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 5,
				5, 6, 6)}},
		optest.Case{Name: "sum", Params: P{Scale: 2, SampleType: "nearest", MultiInputMode: "sum"},
			In:   []op.Tensor{x, values(dtype.Shape{1, 1, 2, 2}, 3, 4, 5, 6)},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 2, 4}, 4, 4, 6, 6, 6, 6, 8, 8)}},
		optest.Case{Name: "bilinear", Params: P{Scale: 2, SampleType: "bilinear", NumFilter: 2},
			In: []op.Tensor{random(1, 1, 2, 2, 3), random(2, 2, 1, 4, 4)}},
	)
	runInfer(t, []inferCase{
		{name: "weight", op: nn.UpSampling.Op,
			attrs: "scale=3 sample_type=bilinear num_filter=2 num_args=1",
			in:    []dtype.Shape{{1, 2, 4, 4}, nil}, out: []dtype.Shape{nil},
			wantIn:  []dtype.Shape{{1, 2, 4, 4}, {2, 1, 5, 5}},
			wantOut: []dtype.Shape{{1, 2, 12, 12}}},
		{name: "extents", op: nn.UpSampling.Op, attrs: "scale=2 sample_type=nearest num_args=2",
			in: []dtype.Shape{{1, 2, 4, 4}, {1, 1, 3, 3}}, out: []dtype.Shape{nil},
			err: "arg1: shape (1, 1, 3, 3), want extents that divide"},
	})
}

func TestPoolingV1(t *testing.T) {
	type P = nn.PoolingV1Params
	x := values(dtype.Shape{1, 1, 1, 3}, -1, -5, -5)
	optest.Run(t, nn.PoolingV1.Op,
		optest.Case{Name: "padding is zero", Params: P{Kernel: []int{1, 2}, Pad: []int{0, 1}},
			NoDiff: true, In: []op.Tensor{x},
			Want:     []op.Tensor{values(dtype.Shape{1, 1, 1, 4}, 0, -1, -5, 0)},
			Heads:    []op.Tensor{values(dtype.Shape{1, 1, 1, 4}, 1, 2, 3, 4)},
			WantGrad: []op.Tensor{values(dtype.Shape{1, 1, 1, 3}, 2, 3, 3)}},
		optest.Case{Name: "avg", Params: P{Kernel: []int{1, 2}, Stride: []int{1, 2},
			PoolType: "avg", PoolingConvention: "full"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 1, 1, 2}, -3, -2.5)}},
		optest.Case{Name: "global", Params: P{GlobalPool: true, PoolType: "sum"},
			In: []op.Tensor{x}, Want: []op.Tensor{values(dtype.Shape{1, 1, 1, 1}, -11)}},
		optest.Case{Name: "max", Params: P{Kernel: []int{2, 2}},
			In: []op.Tensor{positive(1, 2, 2, 3, 4)}},
	)
}
