package zoo

import (
	"fmt"
	"math"

	"gomx/gluon"
	"gomx/gluon/nn"
	"gomx/initializer"
	nd "gomx/ndarray"
	sym "gomx/symbol"
)

// SSDConfig describes a detector. The zero value is GluonCV's ssd_512_resnet50_v1_voc.
type SSDConfig struct {
	Classes int         // without the background; 20 by default
	Sizes   []float64   // of the anchors of each level, and one more; in pixels
	Ratios  [][]float64 // width to height of the anchors of each level
	Steps   []float64   // distances of neighbouring anchors of each level, in pixels
	Filters []int       // channels of the levels behind the two of the residual network

	Suppression
}

// Suppression keeps the best of detections that overlap. The zero value has GluonCV's numbers.
type Suppression struct {
	Overlap float64 // intersection over union from which the lower score goes; 0.45 by default
	TopK    int     // detections with the highest scores that are compared; 400 by default
	Keep    int     // detections that are returned; 100 by default
}

// complete gives parts that are missing their defaults.
func (c SSDConfig) complete() SSDConfig {
	if c.Classes == 0 {
		c.Classes = 20
	}
	if c.Sizes == nil {
		c.Sizes = []float64{51.2, 133.12, 215.04, 296.96, 378.88, 460.8, 542.72}
	}
	if c.Ratios == nil {
		few, many := []float64{1, 2, 0.5}, []float64{1, 2, 0.5, 3, 1.0 / 3}
		c.Ratios = [][]float64{few, many, many, many, few, few}
	}
	if c.Steps == nil {
		c.Steps = []float64{16, 32, 64, 128, 256, 512}
	}
	if c.Filters == nil {
		c.Filters = []int{512, 512, 256, 256}
	}
	if c.Overlap == 0 {
		c.Overlap = 0.45
	}
	if c.TopK == 0 {
		c.TopK = 400
	}
	if c.Keep == 0 {
		c.Keep = 100
	}
	n := len(c.Filters) + 2
	if len(c.Sizes) != n+1 || len(c.Ratios) != n || len(c.Steps) != n {
		panic(misuse("SSD", "%d sizes, %d lists of ratios and %d steps, want %d, %d and %d",
			len(c.Sizes), len(c.Ratios), len(c.Steps), n+1, n, n))
	}
	return c
}

// SSD finds objects in pictures (Liu et al., SSD: Single Shot MultiBox Detector), on six levels of
// a residual network of 50 layers. Names follow GluonCV's ssd_512_resnet50_v1.
type SSD struct {
	gluon.Hooks
	Features         *gluon.SymbolBlock
	ClassPredictors  []*SSDPredictor
	BoxPredictors    []*SSDPredictor
	AnchorGenerators []*SSDAnchors

	config SSDConfig
}

// NewSSD makes the network.
func NewSSD(c SSDConfig) (*SSD, error) {
	c = c.complete()
	features, err := ssdFeatures(c.Filters)
	if err != nil {
		return nil, err
	}
	s := &SSD{Features: features, config: c}
	side := 128
	for i := range c.Steps {
		a := &SSDAnchors{side: side, ratios: c.Ratios[i], step: c.Steps[i],
			sizes: [2]float64{c.Sizes[i], math.Sqrt(c.Sizes[i] * c.Sizes[i+1])}}
		a.Declare()
		s.AnchorGenerators = append(s.AnchorGenerators, a)
		s.ClassPredictors = append(s.ClassPredictors,
			newSSDPredictor(2*i, a.depth()*(c.Classes+1)))
		s.BoxPredictors = append(s.BoxPredictors, newSSDPredictor(2*i+1, a.depth()*4))
		side = max(side/2, 16)
	}
	return s, nil
}

// ssdFeatures makes the network whose outputs are the levels: two inner ones of a residual network,
// and further ones, each of half the height and width.
func ssdFeatures(filters []int) (*gluon.SymbolBlock, error) {
	net := gluon.New(ResNet50V1())
	net.Params().SetInit(initializer.Zero{})
	if err := net.Init(initializer.Zero{}); err != nil {
		return nil, err
	}
	// the values are not used: the symbol has the names of parameters alone
	whole, err := net.Symbol(gluon.Input("data", 1, 3, 64, 64), gluon.GlobalNames("resnetv10_"))
	if err != nil {
		return nil, err
	}
	var levels []*sym.Symbol
	for _, name := range []string{"stage3_activation5", "stage4_activation2"} {
		s, err := whole.Internals().Output("resnetv10_" + name + "_output")
		if err != nil {
			return nil, err
		}
		levels = append(levels, s)
	}
	y := levels[1]
	add := func(i int, kind, end string, p sym.ConvolutionParams) {
		name := func(part string) sym.Option {
			return sym.Name(fmt.Sprintf("expand_%s%s%d", kind, part, i))
		}
		p.NoBias = true
		y = sym.BatchNorm(sym.Convolution(y, p, name("conv")), sym.BatchNormParams{}, name("bn"))
		y = sym.Activation(y, sym.ActivationParams{ActType: "relu"}, name(end))
	}
	for i, channels := range filters {
		add(i, "trans_", "relu", sym.ConvolutionParams{Kernel: nn.Square(1),
			NumFilter: max(128, channels)})
		add(i, "", "reu", sym.ConvolutionParams{Kernel: nn.Square(3), Stride: nn.Square(2),
			Pad: nn.Square(1), NumFilter: channels})
		levels = append(levels, y)
	}
	return gluon.FromSymbol(sym.Group(levels...), "data")
}

// Predict returns the raw predictions for pictures of shape (n, 3, height, width): scores of
// classes and background for each anchor (n, anchors, Classes+1), offsets of boxes (n, anchors, 4),
// and the anchors (1, anchors, 4) as centres and sizes.
func (s *SSD) Predict(x *nd.Array) (classes, boxes, anchors *nd.Array) {
	var lists [3][]*nd.Array
	for i, level := range s.Features.Call([]*nd.Array{x}) {
		flat := func(p *SSDPredictor) *nd.Array {
			return p.Forward(level).Transpose(0, 2, 3, 1).Flatten()
		}
		for k, a := range []*nd.Array{flat(s.ClassPredictors[i]), flat(s.BoxPredictors[i]),
			s.AnchorGenerators[i].Forward(level)} {
			lists[k] = append(lists[k], a)
		}
	}
	join := func(list []*nd.Array, size int) *nd.Array {
		return nd.Concat(list, nd.ConcatParams{Dim: nd.Some(1)}).Reshape(0, -1, size)
	}
	return join(lists[0], s.config.Classes+1), join(lists[1], 4), join(lists[2], 4)
}

// Detect returns the objects in pictures, the likeliest first: classes (n, Keep, 1), scores
// (n, Keep, 1) and boxes (n, Keep, 4) as left, top, right and bottom in pixels. Rows without an
// object have the class -1.
func (s *SSD) Detect(x *nd.Array) (classes, scores, boxes *nd.Array) {
	raw, offsets, anchors := s.Predict(x)
	scores = raw.Softmax().SliceAxis(2, 1, s.config.Classes+1)
	likely := nd.GreaterScalar(scores, nd.ScalarParams{Scalar: 0.01})
	number := nd.ArangeLike(scores, nd.ArangeLikeParams{Axis: nd.Some(2), Start: 1})
	rows := func(a *nd.Array) *nd.Array { return a.Transpose(0, 2, 1).Reshape(0, -1, 1) }
	ids := rows(likely.Mul(number.Reshape(1, 1, -1)).SubScalar(1))
	every := make([]*nd.Array, s.config.Classes)
	for i := range every {
		every[i] = decodeBoxes(offsets, anchors)
	}
	axis := func(n int) nd.ConcatParams { return nd.ConcatParams{Dim: nd.Some(n)} }
	found := nd.Concat([]*nd.Array{ids, rows(scores.Mul(likely)), nd.Concat(every, axis(1))},
		axis(2))
	found = nd.BoxNMS(found, nd.BoxNMSParams{OverlapThresh: nd.Some(s.config.Overlap),
		TopK: nd.Some(s.config.TopK), ValidThresh: 0.01, IDIndex: nd.Some(0),
		ScoreIndex: nd.Some(1), CoordStart: nd.Some(2)})
	found = found.SliceAxis(1, 0, min(s.config.Keep, found.Shape()[1]))
	return found.SliceAxis(2, 0, 1), found.SliceAxis(2, 1, 2), found.SliceAxis(2, 2, 6)
}

// decodeBoxes moves and scales anchors by predicted offsets, and returns corners.
func decodeBoxes(offsets, anchors *nd.Array) *nd.Array {
	p, a := offsets.Split(4, 2), anchors.Split(4, 2)
	var low, high []*nd.Array
	for i := range 2 {
		centre := p[i].MulScalar(0.1).Mul(a[2+i]).Add(a[i])
		half := p[2+i].MulScalar(0.2).Exp().Mul(a[2+i]).DivScalar(2)
		low, high = append(low, centre.Sub(half)), append(high, centre.Add(half))
	}
	return nd.Concat(append(low, high...), nd.ConcatParams{Dim: nd.Some(2)})
}

// Net makes a network of it. Under a tape of training its results are Predict's, elsewhere
// Detect's, as with GluonCV.
func (s *SSD) Net() *gluon.Net {
	return gluon.Wrap(s, func(in []*nd.Array) []*nd.Array {
		call, f := s.Enter(s, in[0]), s.Detect
		if t := in[0].Tape(); t != nil && t.Training() {
			f = s.Predict
		}
		a, b, c := f(in[0])
		call.Leave(a, b, c)
		return []*nd.Array{a, b, c}
	})
}

// Scope says how GluonCV names the network.
func (s *SSD) Scope() gluon.Scope { return gluon.Scope{Prefix: "ssd", Numbered: true} }
