package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
	"gomx/op/philox"
	"gomx/op/prim"
)

// DropoutParams configures Dropout.
type DropoutParams struct {
	P        op.Opt[float64] `op:"p" default:"0.5" min:"0" max:"1" doc:"share of elements that are dropped"`
	Mode     string          `op:"mode" default:"training" enum:"training|always" doc:"drop in training only, or always"`
	Axes     []int           `op:"axes" doc:"axes along which elements are dropped together"`
	CudnnOff op.Opt[bool]    `op:"cudnn_off" default:"False" doc:"accepted for compatibility, without effect"`
}

// Dropout sets random elements to zero.
var Dropout = op.Declare[DropoutParams]("Dropout")

// DropoutGrad is the gradient of Dropout: from the gradient of the output and the mask to the
// gradient of the data.
var DropoutGrad = op.Declare[DropoutParams]("_backward_Dropout")

func init() {
	Dropout.Define(op.Spec[DropoutParams]{
		Traits: op.Traits{
			Doc: `Dropout sets random elements to zero in training and passes data on otherwise.

Each element is dropped with probability p; what is left is multiplied by 1/(1-p), so that the
expectation stays. With p = 1 all are dropped, and no gradient passes. With axes, elements that differ only in their position along these axes share
one decision. The hidden second output is the mask of what is kept.`,
			Aliases: []string{"_npx_dropout"},
			Inplace: [][2]int{{0, 0}},
			Random:  true,
		},
		Outputs: func(DropoutParams) []string { return []string{"output", "mask"} },
		Visible: func(DropoutParams) int { return 1 },
		Infer: func(p DropoutParams, in, out []dtype.Shape) error {
			return inferDropout(p, &in[0], &out[0], &out[1])
		},
		InferType: func(_ DropoutParams, in, out []dtype.Type) error {
			return dropoutType(in[:1], out[:1], &out[1])
		},
		Grad: func(g *op.Grad, p DropoutParams) []op.Entry {
			return []op.Entry{DropoutGrad.Apply(p, g.Head(0), g.Out(1))}
		},
		Neutral: func(p DropoutParams) bool { return p.P.Value() == 0 },
		Ref:     dropoutRef,
	})
	DropoutGrad.Define(op.Spec[DropoutParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}},
		Inputs: inputs[DropoutParams]("out_grad", "mask"),
		Infer: func(p DropoutParams, in, out []dtype.Shape) error {
			return inferDropout(p, &in[0], &out[0], &in[1])
		},
		InferType: func(_ DropoutParams, in, out []dtype.Type) error {
			return dropoutType(in[:1], out[:1], &in[1])
		},
		Grad: prim.Adjoint(func(g *op.Grad, p DropoutParams, h op.Entry) op.Entry {
			return DropoutGrad.Apply(p, h, g.In(1))
		}),
		Ref: dropoutGradRef,
	})
}

// dropoutType infers that data has a floating-point type and the mask is made of bytes.
func dropoutType(in, out []dtype.Type, mask *dtype.Type) error {
	if *mask != dtype.Unknown && *mask != dtype.Uint8 {
		return op.Errorf("mask", "element type %v, want uint8", *mask)
	}
	*mask = dtype.Uint8
	return op.FloatType(op.NoParams{}, in, out)
}

func inferDropout(p DropoutParams, x, y, mask *dtype.Shape) error {
	if err := op.Same("output", x, y); err != nil || *x == nil && *mask == nil {
		return err
	}
	if *x == nil {
		*x = unknown(len(*mask))
	}
	if err := op.Require("mask", mask, unknown(len(*x))); err != nil {
		return err
	}
	m, data := x.Clone(), mask.Clone()
	for _, a := range p.Axes {
		a, err := axisOf("axes", a, len(m))
		if err != nil {
			return err
		}
		m[a], data[a] = 1, -1
	}
	if err := op.Require("mask", mask, m); err != nil {
		return err
	}
	if err := op.Require("data", x, data); err != nil {
		return err
	}
	return op.Same("output", x, y)
}

// drops reports whether a run drops anything.
func drops(p DropoutParams, train bool) bool {
	return (train || p.Mode == "always") && p.P.Value() > 0
}

// scale is the factor of the elements that are kept, 0 where none is.
func (p DropoutParams) scale() float64 {
	if p.P.Value() >= 1 {
		return 0
	}
	return 1 / (1 - p.P.Value())
}

func dropoutRef(p DropoutParams, c *op.Call) error {
	mask, keep := make([]float64, c.Out[1].Shape.Size()), 1.0
	if drops(p, c.Train) {
		keep = 1 - p.P.Value()
		philox.Uniform(mask, c.Seed, 0)
	}
	for i, u := range mask {
		mask[i] = 0
		if u < keep {
			mask[i] = 1
		}
	}
	store(c.Out[1], mask)
	switch {
	case c.Out[0].Data == nil:
	case drops(p, c.Train):
		applyMask(c.Out[0], c.In[0], op.TensorOf(mask, c.Out[1].Shape...), p.scale())
	default:
		loop.Move(c.Out[0], c.In[0])
	}
	return nil
}

// applyMask computes y = x·mask·scale.
func applyMask(y, x, mask op.Tensor, scale float64) {
	loop.Zip(loop.Func2{F: func(v, m float64) float64 {
		if m == 0 {
			return 0
		}
		return v * scale
	}}, y, x, mask)
}

func dropoutGradRef(p DropoutParams, c *op.Call) error {
	if !drops(p, c.Train) {
		loop.Move(c.Out[0], c.In[0])
		return nil
	}
	applyMask(c.Out[0], c.In[0], c.In[1], p.scale())
	return nil
}
