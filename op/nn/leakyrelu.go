package nn

import (
	"gomx/dtype"
	"gomx/op"
)

// LeakyReLUParams configures LeakyReLU.
type LeakyReLUParams struct {
	ActType    string          `op:"act_type" default:"leaky" enum:"rrelu|leaky|prelu|elu|selu|gelu" doc:"the function"`
	Slope      op.Opt[float64] `op:"slope" default:"0.25" doc:"slope of leaky and elu for negative values"`
	LowerBound op.Opt[float64] `op:"lower_bound" default:"0.125" doc:"least slope of rrelu"`
	UpperBound op.Opt[float64] `op:"upper_bound" default:"0.334" doc:"greatest slope of rrelu"`
}

// LeakyReLU is the family of rectifiers that let something of negative values through.
var LeakyReLU = op.Declare[LeakyReLUParams]("LeakyReLU")

// LeakyReLUGrad is the gradient of LeakyReLU: from the gradient of the output, the value that the
// forward operator saved (see saved) and prelu's gamma to the gradients of data and gamma.
var LeakyReLUGrad = op.Declare[LeakyReLUParams]("_backward_LeakyReLU")

func init() {
	defineLeaky()
	defineLeakyGrad()
}

func defineLeaky() {
	LeakyReLU.Define(op.Spec[LeakyReLUParams]{
		Traits: op.Traits{
			Doc: `LeakyReLU passes positive values on and bends negative ones.

leaky multiplies them by slope; prelu by the learned gamma, one per channel or a single one; rrelu
by a slope drawn between lower_bound and upper_bound for each element in training, by the middle
of both otherwise; elu gives slope·(exp(x)-1); selu is elu scaled to keep mean and variance; gelu
is x·Φ(x) for all x, with the normal distribution Φ. The gradient of selu for negative values is
scale·(alpha + y), as MXNet has it, where the derivative would be scale·alpha + y.

NaN stays NaN. Its gradient is NaN for elu and slope for leaky; MXNet with oneDNN gives 1 for both, and
slope for the gradient of elu at positive numbers near zero.`,
			Aliases:   []string{"_npx_leaky_relu"},
			GoName:    "LeakyReLU",
			Inplace:   [][2]int{{0, 0}},
			Pointwise: true,
			Layouts:   true,
			Random:    true,
		},
		Inputs: func(p LeakyReLUParams) []op.Input {
			if p.ActType != "prelu" {
				return []op.Input{{Name: "data"}}
			}
			return []op.Input{{Name: "data"}, {Name: "gamma", Role: op.Param,
				Init: `["Constant", {"value": 0.25}]`}}
		},
		Outputs: func(p LeakyReLUParams) []string {
			if p.ActType == "rrelu" {
				return []string{"output", "mask"}
			}
			return []string{"output"}
		},
		Infer:     inferLeaky,
		InferType: op.FloatType[LeakyReLUParams],
		Grad: func(g *op.Grad, p LeakyReLUParams) []op.Entry {
			in := []op.Entry{g.Head(0), leakySaved(g, p)}
			if p.ActType == "prelu" {
				in = append(in, g.In(1))
			}
			return g.Each(LeakyReLUGrad.Node(p, in...))
		},
		PrecisionOf: func(p LeakyReLUParams) op.Precision {
			if p.ActType == "elu" || p.ActType == "selu" {
				return op.Wide
			}
			return op.AnyPrecision
		},
		Draws: func(p LeakyReLUParams) bool { return p.ActType == "rrelu" },
		Ref:   leakyRef,
	})
}

func defineLeakyGrad() {
	LeakyReLUGrad.Define(op.Spec[LeakyReLUParams]{
		Traits: op.Traits{Hidden: true, Inplace: [][2]int{{0, 0}}, Pointwise: true, Layouts: true},
		Inputs: func(p LeakyReLUParams) []op.Input {
			in := []op.Input{{Name: "out_grad"}, {Name: "saved"}, {Name: "gamma"}}
			if p.ActType != "prelu" {
				return in[:2]
			}
			return in
		},
		Outputs: func(p LeakyReLUParams) []string {
			if p.ActType == "prelu" {
				return []string{"data", "gamma"}
			}
			return []string{"data"}
		},
		Infer:     inferLeakyGrad,
		InferType: op.FloatType[LeakyReLUParams],
		Grad:      leakySecond,
		Ref:       leakyGradRef,
	})
}

// leakySaved is the value that the gradient reads: the data, rrelu's mask of slopes, or the output
// where that tells the slope as well, so that the data need not be kept.
func leakySaved(g *op.Grad, p LeakyReLUParams) op.Entry {
	switch {
	case p.ActType == "rrelu":
		return g.Out(1)
	case p.ActType == "selu", (p.ActType == "elu" || p.ActType == "leaky") && p.Slope.Value() >= 0:
		return g.Out(0)
	}
	return g.In(0)
}

func inferLeaky(p LeakyReLUParams, in, out []dtype.Shape) error {
	for i := range out {
		if err := op.Same("output", &in[0], &out[i]); err != nil {
			return err
		}
	}
	if p.ActType != "prelu" || in[0] == nil {
		return nil
	}
	if in[1] == nil {
		in[1] = dtype.Shape{1}
		if len(in[0]) > 1 {
			in[1][0] = in[0][1]
		}
		return nil
	}
	return checkGamma(in[0], &in[1])
}

// checkGamma accepts one slope, one per channel, one per sample and channel, or an array that
// broadcasts to data.
func checkGamma(data dtype.Shape, gamma *dtype.Shape) error {
	g := gammaShape(*gamma, data)
	ok := len(g) == len(data)
	for i := 0; ok && i < len(g); i++ {
		ok = g[i] == 1 || g[i] == -1 || data[i] == -1 || g[i] == data[i]
	}
	if !ok {
		return op.Errorf("gamma", "shape %v, want one slope, one per channel, one per sample "+
			"and channel, or what broadcasts to the shape of data %v", *gamma, data)
	}
	return nil
}

// gammaShape lays one or two axes of slopes over the first two of data, from channels to samples,
// as MXNet does: an axis of the slopes goes to the next axis of data that has its extent, or takes
// any if its extent is one.
func gammaShape(gamma, data dtype.Shape) dtype.Shape {
	if len(gamma) > 2 || len(data) < 2 {
		return gamma
	}
	s := make(dtype.Shape, len(data))
	for i := range s {
		s[i] = 1
	}
	left := len(gamma) - 1
	for i := 1; i >= 0 && left >= 0; i-- {
		if g := gamma[left]; g == 1 || g == -1 || data[i] == -1 || g == data[i] {
			s[i] = g
			left--
		}
	}
	if left >= 0 {
		return gamma
	}
	return s
}

func inferLeakyGrad(p LeakyReLUParams, in, out []dtype.Shape) error {
	data := in[0]
	for _, s := range []*dtype.Shape{&in[1], &out[0]} {
		if err := op.Same("gradient", &data, s); err != nil {
			return err
		}
	}
	in[0], in[1], out[0] = data, data.Clone(), data.Clone()
	if p.ActType != "prelu" {
		return nil
	}
	if err := op.Same("gamma", &in[2], &out[1]); err != nil {
		return err
	}
	fin, fout := []dtype.Shape{data.Clone(), in[2]}, []dtype.Shape{data.Clone()}
	if err := inferLeaky(p, fin, fout); err != nil {
		return err
	}
	in[2], out[1] = fin[1], fin[1].Clone()
	return nil
}
