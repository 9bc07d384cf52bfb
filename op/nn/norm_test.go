package nn_test

import (
	"math"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/nn"
)

func TestLayerNorm(t *testing.T) {
	type P = nn.LayerNormParams
	x, gamma, beta := values(dtype.Shape{2, 2}, 1, 3, -10, 10), vec(2, 3), vec(5, 6)
	small, large := float32(math.Sqrt(1+1e-5)), float32(math.Sqrt(100+1e-5))
	want := []op.Tensor{values(dtype.Shape{2, 2}, 5-2/small, 6+3/small, 5-20/large, 6+30/large),
		values(dtype.Shape{2, 1}, 2, 0), values(dtype.Shape{2, 1}, small, large)}
	optest.Run(t, nn.LayerNorm.Op,
		optest.Case{Name: "values", Params: P{}, In: []op.Tensor{x, gamma, beta}, Want: want},
		optest.Case{Name: "half", Params: P{}, In: []op.Tensor{half(x), half(gamma), half(beta)},
			Want: []op.Tensor{half(want[0])}},
		optest.Case{Name: "first axis", Params: P{Axis: op.Some(0), Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 3, 2, 2), random(2, 3), random(3, 3)}},
		optest.Case{Name: "middle axis", Params: P{Axis: op.Some(1), Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 2, 3, 2), random(2, 3), random(3, 3)}},
	)
}

func TestInstanceNorm(t *testing.T) {
	inv := float32(1 / math.Sqrt(1+1e-3))
	optest.Run(t, nn.InstanceNorm.Op,
		optest.Case{Name: "values", Params: nn.InstanceNormParams{},
			In:   []op.Tensor{values(dtype.Shape{1, 2, 2}, 1, 3, 4, 6), vec(2, 3), vec(5, 6)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, 5-2*inv, 5+2*inv, 6-3*inv, 6+3*inv)}},
		optest.Case{Name: "differences", Params: nn.InstanceNormParams{Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 2, 3, 2, 2), random(2, 3), random(3, 3)}},
	)
}

func TestGroupNorm(t *testing.T) {
	type P = nn.GroupNormParams
	inv := float32(1 / math.Sqrt(1.25+1e-5))
	optest.Run(t, nn.GroupNorm.Op,
		optest.Case{Name: "values", Params: P{}, In: []op.Tensor{values(dtype.Shape{1, 2, 2}, 1, 2,
			3, 4), vec(2), vec(5)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, 5-3*inv, 5-inv, 5+inv, 5+3*inv),
				values(dtype.Shape{1, 1}, 2.5), values(dtype.Shape{1, 1}, 1/inv)}},
		optest.Case{Name: "groups", Params: P{NumGroups: 2, Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 2, 4, 3), random(2, 2), random(3, 2)}},
		optest.Case{Name: "two axes", Params: P{NumGroups: 3, Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 1, 3, 2, 2), random(2, 3), random(3, 3)}},
	)
}

// Gradients that flow into the statistics are ignored.
func TestLayerNormIgnoresGradientsOfStatistics(t *testing.T) {
	p := nn.LayerNormParams{OutputMeanVar: true}
	optest.Run(t, nn.LayerNorm.Op, optest.Case{Params: p, NoDiff: true,
		In: []op.Tensor{random(1, 2, 3), random(2, 3), random(3, 3)},
		Heads: []op.Tensor{values(dtype.Shape{2, 3}, 0, 0, 0, 0, 0, 0), random(4, 2, 1),
			random(5, 2, 1)},
		WantGrad: []op.Tensor{values(dtype.Shape{2, 3}, 0, 0, 0, 0, 0, 0), vec(0, 0, 0),
			vec(0, 0, 0)}})
}

func TestNormsInferShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{name: "forward", op: nn.LayerNorm.Op, in: []dtype.Shape{{5, 3, 2}, nil, nil},
			out:    []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{{5, 3, 2}, {2}, {2}}, wantOut: []dtype.Shape{{5, 3, 2}, {5, 3, 1},
				{5, 3, 1}}},
		{name: "from gamma", op: nn.LayerNorm.Op, in: []dtype.Shape{{5, 3, -1}, {2}, nil},
			out:    []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{{5, 3, 2}, {2}, {2}}},
		{name: "axis", op: nn.LayerNorm.Op, attrs: "axis=3", in: []dtype.Shape{{5, 3, 2}, nil, nil},
			out: []dtype.Shape{nil, nil, nil}, err: "axis: axis 3"},
		{name: "forward", op: nn.InstanceNorm.Op, in: []dtype.Shape{{5, 3, 2}, nil, nil},
			out:    []dtype.Shape{nil, nil, nil},
			wantIn: []dtype.Shape{{5, 3, 2}, {3}, {3}}, wantOut: []dtype.Shape{{5, 3, 2}}},
		{name: "matrix", op: nn.InstanceNorm.Op, in: []dtype.Shape{{5, 3}, nil, nil},
			out: []dtype.Shape{nil, nil, nil}, err: "want at least 3 axes"},
		{name: "groups", op: nn.GroupNorm.Op, attrs: "num_groups=2", in: []dtype.Shape{{5, 3, 2},
			nil, nil}, out: []dtype.Shape{nil, nil, nil},
			err: "3 channels, want a multiple of num_groups 2"},
		{name: "even window", op: nn.LRN.Op, attrs: "nsize=4", in: []dtype.Shape{{5, 3, 2}},
			out: []dtype.Shape{nil, nil}, err: "nsize: 4, want an odd number"},
		{name: "norms", op: nn.L2Normalization.Op, attrs: "mode=channel",
			in: []dtype.Shape{{5, 3, 2}}, out: []dtype.Shape{nil, nil},
			wantOut: []dtype.Shape{{5, 3, 2}, {5, 1, 2}}},
	})
}

func TestL2Normalization(t *testing.T) {
	type P = nn.L2NormalizationParams
	x := values(dtype.Shape{1, 2, 2}, 3, 8, 4, 6)
	r := float32(math.Sqrt(125))
	optest.Run(t, nn.L2Normalization.Op,
		optest.Case{Name: "instance", Params: P{}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, 3/r, 8/r, 4/r, 6/r)}},
		optest.Case{Name: "channel", Params: P{Mode: "channel"}, In: []op.Tensor{x},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, .6, .8, .8, .6)}},
		optest.Case{Name: "spatial", Params: P{Mode: "spatial"},
			In:   []op.Tensor{values(dtype.Shape{1, 2, 2}, 3, 4, 8, 6)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, .6, .8, .8, .6)}},
		optest.Case{Name: "two axes", Params: P{Mode: "spatial", Eps: op.Some(.1)},
			In: []op.Tensor{random(1, 2, 2, 3, 2)}},
		optest.Case{Name: "samples", Params: P{}, In: []op.Tensor{random(1, 3, 4)}},
	)
}

func TestLRN(t *testing.T) {
	p := nn.LRNParams{Nsize: 3, Alpha: op.Some(3.0), Beta: op.Some(1.0), Knorm: op.Some(1.0)}
	optest.Run(t, nn.LRN.Op,
		optest.Case{Name: "values", Params: p, In: []op.Tensor{values(dtype.Shape{1, 3, 1}, 1, 2,
			3)},
			Want: []op.Tensor{values(dtype.Shape{1, 3, 1}, 1./6, 2./15, 3./14)}},
		optest.Case{Name: "defaults", Params: nn.LRNParams{Nsize: 5},
			In: []op.Tensor{random(1, 2, 6, 2)}},
		optest.Case{Name: "strong", Params: nn.LRNParams{Nsize: 3, Alpha: op.Some(1.0)},
			In: []op.Tensor{random(1, 2, 4, 2, 2)}},
	)
}

func TestSoftmaxActivation(t *testing.T) {
	l3 := float32(math.Log(3))
	optest.Run(t, nn.SoftmaxActivation.Op,
		optest.Case{Name: "instance", Params: nn.SoftmaxActivationParams{},
			In:   []op.Tensor{values(dtype.Shape{2, 2}, 0, l3, 500, 500)},
			Want: []op.Tensor{values(dtype.Shape{2, 2}, .25, .75, .5, .5)}},
		optest.Case{Name: "channel", Params: nn.SoftmaxActivationParams{Mode: "channel"},
			In:   []op.Tensor{values(dtype.Shape{1, 2, 2}, 0, 1, l3, 1)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, .25, .5, .75, .5)}},
		optest.Case{Name: "instance of three axes", Params: nn.SoftmaxActivationParams{},
			In:   []op.Tensor{values(dtype.Shape{1, 2, 2}, 0, l3, 1, 1)},
			Want: []op.Tensor{values(dtype.Shape{1, 2, 2}, .25, .75, .5, .5)}},
		optest.Case{Name: "instance of one axis", Params: nn.SoftmaxActivationParams{},
			In: []op.Tensor{vec(0, l3)}, Want: []op.Tensor{vec(.25, .75)}},
	)
}
