package zoo

import (
	"fmt"
	"math"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// SSDPredictor predicts numbers for each anchor of a level.
type SSDPredictor struct {
	Predictor *nn.Conv2D

	number int // among the predictors of the network
}

// newSSDPredictor makes a predictor.
func newSSDPredictor(number, channels int) *SSDPredictor {
	return &SSDPredictor{number: number, Predictor: &nn.Conv2D{Channels: channels,
		Kernel: nn.Square(3), Pad: nn.Square(1), WeightInit: initializer.Xavier{Magnitude: 2}}}
}

// Forward returns the numbers, of shape (n, channels, height, width).
func (p *SSDPredictor) Forward(x *nd.Array) *nd.Array { return p.Predictor.Forward(x) }

// Scope says how GluonCV names the predictor.
func (p *SSDPredictor) Scope() gluon.Scope {
	return gluon.Scope{Prefix: fmt.Sprintf("convpredictor%d_", p.number)}
}

// SSDAnchors are the boxes of a level that detections are counted from: some for each place.
type SSDAnchors struct {
	Anchors *gluon.Param // of shape (1, 1, places, places, 4·depth); it is not trained

	side   int        // places along an axis for which there are anchors
	sizes  [2]float64 // of the two square anchors
	ratios []float64  // width to height, of squares first
	step   float64    // distance of neighbouring places in pixels
}

// depth is the number of anchors for each place.
func (a *SSDAnchors) depth() int { return len(a.ratios) + 1 }

// Declare declares the parameter.
func (a *SSDAnchors) Declare() {
	a.Anchors = gluon.Need(a.Anchors, gluon.Spec{Init: anchorValues{a}, GradReq: nd.GradNull,
		Shape: nd.Shape{1, 1, a.side, a.side, 4 * a.depth()}})
}

// Forward returns the anchors for the places of a level (n, channels, height, width), of shape
// (1, 4·anchors).
func (a *SSDAnchors) Forward(x *nd.Array) *nd.Array {
	if h, w := x.Shape()[2], x.Shape()[3]; h > a.side || w > a.side {
		panic(misuse("SSD", "a level of %d×%d places, want at most %d×%d: the pictures are too "+
			"large", h, w, a.side, a.side))
	}
	return nd.SliceLike(a.Anchors.At(x), x, nd.SliceLikeParams{Axes: []int{2, 3}}).Reshape(1, -1)
}

// Scope says how GluonCV names the block.
func (a *SSDAnchors) Scope() gluon.Scope {
	return gluon.Scope{Prefix: "ssdanchorgenerator", Numbered: true}
}

// anchorValues computes the anchors: centre, width and height in pixels.
type anchorValues struct{ a *SSDAnchors }

// Weight implements initializer.Initializer.
func (v anchorValues) Weight(_ initializer.Desc, dst []float32) error {
	a := v.a
	shapes := [][2]float64{{a.sizes[0], a.sizes[0]}, {a.sizes[1], a.sizes[1]}}
	for _, r := range a.ratios[1:] {
		root := math.Sqrt(r)
		shapes = append(shapes, [2]float64{a.sizes[0] * root, a.sizes[0] / root})
	}
	for y := range a.side {
		for x := range a.side {
			for _, s := range shapes {
				cx, cy := (float64(x)+0.5)*a.step, (float64(y)+0.5)*a.step
				for i, n := range []float64{cx, cy, s[0], s[1]} {
					dst[i] = float32(n)
				}
				dst = dst[4:]
			}
		}
	}
	return nil
}
