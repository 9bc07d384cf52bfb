package vision_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// scene returns four anchors, labels of which the second image has none, and predictions.
func scene() []op.Tensor {
	return optest.Ops(
		optest.F([]int{1, 4, 4}, 0, 0, .5, .5, .5, .5, 1, 1, .1, .1, .6, .6, .6, 0, .9, .3),
		optest.F([]int{2, 3, 5}, 1, .1, .1, .5, .5, 0, .55, .5, 1, .95, -1, -1, -1, -1, -1,
			-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
		optest.F([]int{2, 3, 4}, .1, .4, .2, .1, -.2, .3, -.1, .8, .9, -.2, .6, .1,
			.1, .9, -.9, -.8, -1, .7, .6, .7, 1, .6, -.1, .6))
}

func TestMultiBoxTarget(t *testing.T) {
	type P = vision.MultiBoxTargetParams
	wide, narrow := []int{2, 16}, []int{2, 4}
	offsets := []float64{1, 1, -1.11572, -1.11572, .5, -.5, -.5268, -.5268, -1, -1, -1.11572,
		-1.11572, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	best := append(append([]float64{}, offsets[:8]...), make([]float64, 24)...)
	mask := make([]float64, 32)
	for i := range 12 {
		mask[i] = 1
	}
	zero := make([]op.Tensor, 3)
	for i, x := range scene() {
		zero[i] = optest.New(x.DType, x.Shape...)
	}
	optest.Run(t, vision.MultiBoxTarget.Op,
		optest.Case{Name: "default", NoDiff: true, In: scene(),
			Want: optest.Ops(optest.F(wide, offsets...), optest.F(wide, mask...),
				optest.F(narrow, 2, 1, 2, 0, -1, -1, -1, -1)),
			Heads:    optest.Ops(optest.F(wide, 1), optest.F(wide, 1), optest.F(narrow, 1)),
			WantGrad: zero}, optest.Case{Name: "mined", NoDiff: true, In: scene(),
			Params: P{NegativeMiningRatio: op.Some(1.)},
			Want: optest.Ops(optest.F(wide, offsets...), optest.F(wide, mask...),
				optest.F(narrow, 2, 1, 2, 0, -1, -1, -1, -1))},
		optest.Case{Name: "best anchors only", NoDiff: true, In: scene(),
			Params: P{OverlapThreshold: op.Some(-1.), IgnoreLabel: op.Some(-5.),
				NegativeMiningRatio: op.Some(.5)},
			Want: optest.Ops(optest.F(wide, best...), op.Tensor{}, optest.F(narrow, 2, 1, -5, 0, -5,
				-5, -5, -5))})
}

func TestMultiBoxTargetRefusesHalfLabels(t *testing.T) {
	in := scene()
	op.Slice[float32](in[1])[10] = 0
	op.Slice[float32](in[1])[15] = -1
	op.Slice[float32](in[1])[16] = 0.5
	p, err := vision.MultiBoxTarget.Normalize(vision.MultiBoxTargetParams{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(vision.MultiBoxTarget.Op, p, in)
	if err == nil || !strings.Contains(err.Error(), "class -1 and a box") {
		t.Errorf("got error %v, want one about a label with class -1 and a box", err)
	}
}
