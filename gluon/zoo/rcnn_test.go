package zoo_test

import (
	"testing"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/gluon/zoo"
	nd "gomx/ndarray"
)

// rcnn is a small Faster R-CNN: a network proposes regions, whose features classify them and refine
// their boxes. A second head votes by position-sensitive pooling, as R-FCN does.
type rcnn struct {
	Body       nn.Sequential // an eighth of the height and width
	Proposer   *nn.Conv2D
	Object     *nn.Conv2D // two scores for each anchor: background and object
	Moves      *nn.Conv2D // offsets of boxes from anchors
	Head       *nn.Dense
	Class, Box *nn.Dense
	Votes      *nn.Conv2D // classes times 2·2 positions
}

// Parts of the test network: anchors of a place, classes with the background, proposals.
const (
	rcnnAnchors   = 6
	rcnnClasses   = 4
	rcnnProposals = 8
)

func newRCNN() *gluon.Net {
	conv := func(channels, kernel int) *nn.Conv2D {
		return &nn.Conv2D{Channels: channels, Kernel: nn.Square(kernel), Pad: nn.Square(kernel / 2)}
	}
	r := &rcnn{Proposer: conv(16, 3), Object: conv(2*rcnnAnchors, 1), Moves: conv(4*rcnnAnchors, 1),
		Head: &nn.Dense{Units: 16, Activation: "tanh"}, Class: &nn.Dense{Units: rcnnClasses},
		Box: &nn.Dense{Units: 4 * rcnnClasses}, Votes: conv(rcnnClasses*4, 1)}
	for _, channels := range []int{8, 12, 16} {
		r.Body = append(r.Body, conv(channels, 3), nn.Activation("tanh"), &nn.MaxPool2D{})
	}
	return gluon.Wrap(r, func(in []*nd.Array) []*nd.Array { return r.run(in[0]) })
}

// run returns scores and boxes of regions, votes, and the outputs of the proposing part.
func (r *rcnn) run(x *nd.Array) []*nd.Array {
	features := r.Body.Forward(x)
	y := r.Proposer.Forward(features).Tanh()
	object, moves := r.Object.Forward(y), r.Moves.Forward(y)
	likely := nd.Softmax(object.Reshape(0, 2, -1), nd.SoftmaxParams{Axis: nd.Some(1)}).
		Reshape(0, 2*rcnnAnchors, 8, 8)
	size := nd.FromSlice([]float32{64, 64, 1}, 1, 3)
	regions := nd.Proposal(likely.Detach(), moves.Detach(), size, nd.ProposalParams{
		PreNMSTopN: nd.Some(60), PostNMSTopN: rcnnProposals, FeatureStride: 8,
		Scales: []float64{2, 4}, Ratios: []float64{0.5, 1, 2}, MinSize: nd.Some(4)})
	aligned := nd.ROIAlign(features, regions, nd.ROIAlignParams{PooledSize: nn.Square(3),
		SpatialScale: 1.0 / 8, SampleRatio: nd.Some(2)})
	head := r.Head.Forward(aligned)
	votes := nd.PSROIPooling(r.Votes.Forward(features), regions, nd.PSROIPoolingParams{
		SpatialScale: 1.0 / 8, OutputDim: rcnnClasses, PooledSize: 2})
	return []*nd.Array{r.Class.Forward(head), r.Box.Forward(head), votes.Mean(2, 3), object, moves}
}

func init() {
	smalls["rcnn"] = small{make: func(*testing.T) *gluon.Net { return newRCNN() },
		inputs: []zoo.Input{{Name: "data", Shape: nd.Shape{1, 3, 64, 64}}},
		shapes: []nd.Shape{{rcnnProposals, rcnnClasses}, {rcnnProposals, 4 * rcnnClasses},
			{rcnnProposals, rcnnClasses}, {1, 2 * rcnnAnchors, 8, 8}, {1, 4 * rcnnAnchors, 8, 8}}}
}
