package main

import (
	images "gomx/examples/data"
	"gomx/gluon/nn"
	nd "gomx/ndarray"
)

// SSD is a detector. Each level halves the height and width of the one before.
type SSD struct {
	Body    []nn.Sequential
	Classes []*nn.Conv2D // scores of the classes and the background for each anchor
	Boxes   []*nn.Conv2D // offsets of boxes from anchors
}

// sizes of anchors by level, as shares of the picture, and their ratios of width to height.
var (
	sizes  = [][]float64{{0.2, 0.27}, {0.35, 0.42}, {0.5, 0.6}}
	ratios = []float64{1, 2, 0.5}
)

// newSSD makes the network; every place of a level has four anchors.
func newSSD() *SSD {
	s := &SSD{}
	for level, channels := range []int{64, 96, 128} {
		var body nn.Sequential
		blocks := []int{channels}
		if level == 0 {
			blocks = []int{16, 32, channels}
		}
		for i, n := range blocks {
			if level > 0 || i > 0 {
				body = append(body, &nn.MaxPool2D{})
			}
			body = append(body, conv(n), &nn.BatchNorm{}, nn.Activation("relu"), conv(n),
				&nn.BatchNorm{}, nn.Activation("relu"))
		}
		s.Body = append(s.Body, body)
		s.Classes = append(s.Classes, conv(4*(len(images.ShapeNames)+1)))
		s.Boxes = append(s.Boxes, conv(4*4))
	}
	return s
}

func conv(channels int) *nn.Conv2D {
	return &nn.Conv2D{Channels: channels, Kernel: nn.Square(3), Pad: nn.Square(1)}
}

// Call returns the anchors (1, a, 4), the scores (n, a, classes) and the offsets (n, 4·a).
func (s *SSD) Call(in []*nd.Array) []*nd.Array {
	x, lists := in[0], [3][]*nd.Array{}
	for i := range s.Body {
		x = s.Body[i].Forward(x)
		for k, a := range []*nd.Array{
			nd.MultiBoxPrior(x, nd.MultiBoxPriorParams{Sizes: sizes[i], Ratios: ratios}),
			s.Classes[i].Forward(x).Transpose(0, 2, 3, 1).Reshape(0, -1, len(images.ShapeNames)+1),
			s.Boxes[i].Forward(x).Transpose(0, 2, 3, 1).Flatten(),
		} {
			lists[k] = append(lists[k], a)
		}
	}
	join := func(list []*nd.Array) *nd.Array {
		return nd.Concat(list, nd.ConcatParams{Dim: nd.Some(1)})
	}
	return []*nd.Array{join(lists[0]), join(lists[1]), join(lists[2])}
}
