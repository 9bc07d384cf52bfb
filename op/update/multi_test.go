package update_test

import (
	"strings"
	"testing"

	"gomx/dtype"
	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/update"
)

func TestMultiSGD(t *testing.T) {
	w0, g0, w1, g1 := vec(1, 2), vec(1, -1), vec(3), vec(2)
	optest.Run(t, update.MultiSGDUpdate.Op, optest.Case{
		Params: update.MultiSGDUpdateParams{LRs: []float64{.1, .5}, WDs: []float64{0, .5},
			NumWeights: 2},
		In: []op.Tensor{w0, g0, w1, g1}, Want: []op.Tensor{vec(.9, 2.1), vec(1.25)}})
	optest.Run(t, update.MultiSGDMomUpdate.Op, optest.Case{
		Params: update.MultiSGDMomUpdateParams{LRs: []float64{.1}, WDs: []float64{0}, Momentum: .5},
		In:     []op.Tensor{w0, g0, vec(1, 1)}, Want: []op.Tensor{vec(1.4, 2.6)},
		After: []op.Tensor{{}, {}, vec(.4, .6)}})
	optest.Run(t, update.MultiMPSGDMomUpdate.Op, optest.Case{
		Params: update.MultiSGDMomUpdateParams{LRs: []float64{.1, .1}, WDs: []float64{0, 0},
			Momentum: .5, NumWeights: 2},
		In:   []op.Tensor{half(w0), half(g0), vec(1, 1), w0, half(w1), half(g1), vec(0), w1},
		Want: []op.Tensor{half(vec(1.4, 2.6)), half(vec(2.8))}, After: []op.Tensor{{}, {},
			vec(.4, .6), vec(1.4, 2.6), {}, {}, vec(-.2), vec(2.8)}})
}

func TestPreloadedSGD(t *testing.T) {
	optest.Run(t, update.PreloadedMultiSGDUpdate.Op, optest.Case{
		Params: update.PreloadedSGDUpdateParams{NumWeights: 2},
		In:     []op.Tensor{vec(1, 2), vec(1, -1), vec(3), vec(2), vec(.1, .5), vec(0, .5)},
		Want:   []op.Tensor{vec(.9, 2.1), vec(1.25)}})
	optest.Run(t, update.PreloadedMultiMPSGDUpdate.Op, optest.Case{
		Params: update.PreloadedSGDUpdateParams{},
		In:     []op.Tensor{half(vec(1, 2)), half(vec(1, -1)), vec(1, 2), vec(.1), vec(0)},
		Want:   []op.Tensor{half(vec(.9, 2.1))}, After: []op.Tensor{{}, {}, vec(.9, 2.1)}})
}

func TestMultiAdamWIsAdamW(t *testing.T) {
	one := update.AdamWUpdateParams{LR: .1, Eta: .5, WD: .2, ClipGradient: op.Some(1.0)}
	in := []op.Tensor{vec(1, 2), vec(1, -4), vec(.5, 0), vec(.25, 0), vec(.5)}
	p, err := update.AdamWUpdate.Normalize(one)
	if err != nil {
		t.Fatal(err)
	}
	after := []op.Tensor{in[0], in[1], optest.Clone(in[2]), optest.Clone(in[3]), in[4]}
	want, err := optest.Runner{}.Apply(update.AdamWUpdate.Op, p, after)
	if err != nil {
		t.Fatal(err)
	}
	optest.Run(t, update.AdamWUpdate.Op, optest.Case{Name: "skip", Params: one,
		In: []op.Tensor{in[0], in[1], in[2], in[3], vec(0)}, Want: in[:1], After: in[:4]})
	optest.Run(t, update.MultiAdamWUpdate.Op, optest.Case{
		Params: update.MultiAdamWUpdateParams{LRs: []float64{.1}, WDs: []float64{.2},
			Etas: []float64{.5}, ClipGradient: op.Some(1.0)},
		In: in, Want: want, After: after})
}

// The values are those of MXNet.
func TestMultiLamb(t *testing.T) {
	optest.Run(t, update.MultiLambUpdate.Op, optest.Case{
		Params: update.MultiLambUpdateParams{LearningRates: []float64{.1, .2},
			WDs: []float64{.1, 0}, StepCount: []int{1, 3}, NumTensors: 2,
			RescaleGrad: op.Some(.5), ClipGradient: op.Some(.4), LowerBound: op.Some(.5),
			UpperBound: op.Some(1.5)},
		In: []op.Tensor{
			vec(1.7640524, .40015721, .978738, 2.2408931, 1.867558, -.97727787),
			vec(.14404356, 1.4542735, .7610377, .12167501, .44386324, .33367434),
			vec(-2.5529897, .6536186, .8644362, -.742165, 2.2697546, -1.4543657),
			vec(.94374806, .6818203, .3595079, .43703195, .6976313, .06022547),
			vec(.95008844, -.1513572, -.10321885, .41059852), vec(1.4940791, -.20515826, .31306767,
				-.85409576),
			vec(.04575852, -.18718386, 1.5327792, 1.4693588), vec(.6667667, .67063785, .21038257,
				.12892629)},
		Want: []op.Tensor{
			vec(1.8032967, .38081518, .94233006, 2.2472782, 1.8007953, -.8557781),
			vec(.94563794, -.14158668, -.23938718, .2507992)},
		After: []op.Tensor{{}, {}, vec(-2.2904885, .62825674, .81604445, -.66186476, 2.0649724,
			-1.2922454),
			vec(.9428095, .6812984, .35929316, .43659863, .69698286, .06019308), {}, {},
			vec(.08118267, -.17872338, 1.3951546, 1.2824229), vec(.66625994, .6699778, .21019669,
				.12895736)}})
}

func TestMultiChecksLists(t *testing.T) {
	p, err := update.MultiSGDUpdate.Normalize(update.MultiSGDUpdateParams{LRs: []float64{.1},
		WDs: []float64{0, 0}, NumWeights: 2})
	if err != nil {
		t.Fatal(err)
	}
	err = update.MultiSGDUpdate.InferShape(p, make([]dtype.Shape, 4), make([]dtype.Shape, 2))
	if err == nil || !strings.Contains(err.Error(), "lrs: 1 numbers for 2 weights") {
		t.Errorf("got error %v", err)
	}
}
