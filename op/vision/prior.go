package vision

import (
	"math"
	"slices"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/prim"
)

// MultiBoxPriorParams configures MultiBoxPrior.
type MultiBoxPriorParams struct {
	Sizes   []float64 `op:"sizes" default:"(1,)" doc:"sizes of boxes; the first size is combined with all ratios"`
	Ratios  []float64 `op:"ratios" default:"(1,)" doc:"ratios of width to height; the first ratio is combined with all sizes"`
	Clip    bool      `op:"clip" doc:"clip boxes at the border of the image"`
	Steps   []float64 `op:"steps" default:"(-1, -1)" doc:"distance of centres along y and x, as a share of the image; -1: 1 / number of positions"`
	Offsets []float64 `op:"offsets" default:"(0.5, 0.5)" doc:"offset of a centre in its position along y and x, 0 to 1"`
}

// MultiBoxPrior makes anchor boxes.
var MultiBoxPrior = op.Declare[MultiBoxPriorParams]("_contrib_MultiBoxPrior")

func init() {
	MultiBoxPrior.Define(op.Spec[MultiBoxPriorParams]{
		Traits: op.Traits{
			GoName: "MultiBoxPrior",
			Doc: `MultiBoxPrior makes anchor boxes around every position of a feature map (Liu et al. 2016).

Data has shape (n, c, h, w); its elements are not read. The output has shape (1, h·w·a, 4): the
corners of a = sizes + ratios - 1 boxes per position, in units of the image: each size with the
first ratio, then the first size with each other ratio. There is no gradient.`,
			Aliases:   []string{"_npx_multibox_prior"},
			Ignores:   []int{0},
			Precision: op.Wide,
		},
		Infer:       inferPrior,
		InferType:   op.FloatType[MultiBoxPriorParams],
		Grad:        prim.ZeroGrad[MultiBoxPriorParams],
		GradStorage: op.GradDense[MultiBoxPriorParams],
		Ref:         prior,
	})
}

func (p MultiBoxPriorParams) anchors() int { return len(p.Sizes) + len(p.Ratios) - 1 }

func inferPrior(p MultiBoxPriorParams, in, out []dtype.Shape) error {
	switch {
	case len(p.Sizes) == 0 || len(p.Ratios) == 0:
		return op.Errorf("sizes", "%v and ratios %v, want at least one number each", p.Sizes,
			p.Ratios)
	case len(p.Steps) != 2 || p.Steps[0]*p.Steps[1] < 0:
		return op.Errorf("steps", "%v, want two positive numbers or -1 twice", p.Steps)
	case len(p.Offsets) != 2 || slices.Min(p.Offsets) < 0 || slices.Max(p.Offsets) > 1:
		return op.Errorf("offsets", "%v, want two numbers between 0 and 1", p.Offsets)
	}
	boxes := dtype.Shape{1, -1, 4}
	if s := in[0]; s != nil {
		if len(s) < 4 || s[2] == 0 || s[3] == 0 {
			return op.Errorf("data", "shape %v, want (n, c, h, w)", s)
		}
		if s[2] != -1 && s[3] != -1 {
			boxes[1] = s[2] * s[3] * p.anchors()
		}
	}
	return op.Require("output", &out[0], boxes)
}

func prior(p MultiBoxPriorParams, c *op.Call) error {
	h, w := c.In[0].Shape[2], c.In[0].Shape[3]
	stepY, stepX := p.Steps[0], p.Steps[1]
	if stepY <= 0 || stepX <= 0 {
		stepY, stepX = 1/float64(h), 1/float64(w)
	}
	var boxes []float64
	for i := range h * w {
		y, x := (float64(i/w)+p.Offsets[0])*stepY, (float64(i%w)+p.Offsets[1])*stepX
		for k := range p.anchors() {
			size, ratio := p.Sizes[0], p.Ratios[0]
			if k < len(p.Sizes) {
				size = p.Sizes[k]
			} else {
				ratio = p.Ratios[k-len(p.Sizes)+1]
			}
			root := math.Sqrt(ratio)
			dx, dy := size*float64(h)/float64(w)*root/2, size/root/2
			boxes = append(boxes, x-dx, y-dy, x+dx, y+dy)
		}
	}
	if p.Clip {
		for i, v := range boxes {
			boxes[i] = min(max(v, 0), 1)
		}
	}
	loop.Store(c.Out[0], 0, boxes)
	return nil
}
