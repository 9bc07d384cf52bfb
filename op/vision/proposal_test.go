package vision_test

import (
	"strings"
	"testing"

	"gomx/internal/optest"
	"gomx/op"
	"gomx/op/vision"
)

// rpnOutput is what a network says of one image: two anchors, four positions.
func rpnOutput() []op.Tensor {
	return optest.Ops(
		optest.F([]int{1, 4, 2, 2}, .12, .64, .14, .94, .52, .41, .26, .77, .46, .57, .02, .62, .61,
			.62, .94, .68),
		optest.F([]int{1, 8, 2, 2}, -.1, -.1, .2, -.4, .2, .2, -.3, -.4, -.2, -.1, .1, -.1, .5, -.4,
			-.3, -.3, .2, -.2, 0, -.3, -.3, -.4, .2, -.4, -.3, -.1, .3, -.4, .3, -.4, .5, 0),
		optest.F([]int{1, 3}, 16, 12, 1))
}

// rounded allows for expected values of four digits.
var rounded = optest.Tolerance{Abs: 1e-4, Rel: 1e-4}

func TestProposal(t *testing.T) {
	p := vision.ProposalParams{Scales: []float64{1}, Ratios: []float64{.5, 2}, FeatureStride: 8,
		PostNMSTopN: 4, MinSize: op.Some(0), OutputScore: true}
	corners := p
	corners.IoULoss, corners.Threshold, corners.MinSize, corners.OutputScore = true, op.Some(.3),
		op.Some(4), false
	few := p
	few.PreNMSTopN = op.Some(1)
	best := []float64{0, 0, 4.5077, 7.0496, 15}
	rows, scores := []int{4, 5}, []int{4, 1}
	zero := make([]op.Tensor, 3)
	for i, x := range rpnOutput() {
		zero[i] = optest.New(x.DType, x.Shape...)
	}
	optest.Run(t, vision.Proposal.Op,
		optest.Case{Name: "moved anchors", NoDiff: true, Params: p, In: rpnOutput(), Tol: rounded,
			Want: optest.Ops(optest.F(rows, append(best, 0, 2.9775, 0, 6.4225, 7.4992, 0, 0, .2538,
				6.403, 9.1462, 0, .1216, 7.9775, 11, 11.4225)...),
				optest.F(scores, .94, .61, .46, .02)),
			Heads: optest.Ops(optest.F(rows, 1), optest.F(scores, 1)), WantGrad: zero},
		optest.Case{Name: "moved corners, small boxes last", NoDiff: true, Params: corners,
			In: rpnOutput(), Tol: rounded,
			Want: optest.Ops(optest.F(rows, 0, 1, 6.2, 6.3, 15, 0, 1.2, 0, 5.7, 9.3, 0, 6.4, 1.2,
				11, 5.6, 0, 6.8, -2, 13, 10.6), optest.F(scores, .94, .61, -1, -1))},
		optest.Case{Name: "repeated", NoDiff: true, Params: few, In: rpnOutput(), Tol: rounded,
			Want: optest.Ops(optest.F(rows, append(append(append(best[:5:5], best[:5]...),
				best[:5]...), best[:5]...)...), optest.F(scores, .94))})
}

func TestMultiProposal(t *testing.T) {
	p := vision.ProposalParams{Scales: []float64{1}, Ratios: []float64{.5, 2}, FeatureStride: 8,
		PostNMSTopN: 2, MinSize: op.Some(0), PreNMSTopN: op.Some(1)}
	var in []op.Tensor
	for _, x := range rpnOutput() {
		s := x.Shape.Clone()
		s[0] = 2
		two := append(op.Slice[float32](x), op.Slice[float32](x)...)
		in = append(in, op.TensorOf(two, s...))
	}
	op.Slice[float32](in[2])[3] = 10 // the second image is lower
	optest.Run(t, vision.MultiProposal.Op, optest.Case{Name: "two images", NoDiff: true, Params: p,
		In: in, Tol: rounded,
		Want: optest.Ops(optest.F([]int{4, 5}, 0, 0, 4.5077, 7.0496, 15, 0, 0, 4.5077, 7.0496, 15,
			1, 2.9775, 0, 6.4225, 7.4992, 1, 2.9775, 0, 6.4225, 7.4992), optest.F([]int{4, 1}, .94,
			.94, .61, .61))})
}

func TestProposalWantsImageInFeatureMap(t *testing.T) {
	in := rpnOutput()
	op.Slice[float32](in[2])[0] = 25
	p, err := vision.Proposal.Normalize(vision.ProposalParams{Scales: []float64{1},
		Ratios: []float64{.5, 2}, FeatureStride: 8})
	if err != nil {
		t.Fatal(err)
	}
	_, err = optest.Runner{}.Apply(vision.Proposal.Op, p, in)
	if err == nil || !strings.Contains(err.Error(), "want an image of at most 16·16") {
		t.Errorf("got error %v, want one about the size of the image", err)
	}
}
