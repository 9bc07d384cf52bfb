package nn

import (
	"fmt"

	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// UpSamplingParams configures UpSampling.
type UpSamplingParams struct {
	Scale          int         `op:"scale,required" min:"1" doc:"factor by which the first input grows"`
	NumFilter      int         `op:"num_filter" min:"0" doc:"number of channels, for bilinear"`
	SampleType     string      `op:"sample_type,required" enum:"nearest|bilinear" doc:"how values between elements are found"`
	MultiInputMode string      `op:"multi_input_mode" default:"concat" enum:"concat|sum" doc:"how several inputs are joined"`
	NumArgs        int         `op:"num_args,auto" max:"16384" doc:"number of inputs"`
	Workspace      op.Opt[int] `op:"workspace" default:"512" doc:"accepted for compatibility, without effect"`
}

// UpSampling makes images larger.
var UpSampling = op.Declare[UpSamplingParams]("UpSampling")

// UpSamplingGrad is the gradient of UpSampling by nearest: from the gradient of the output and the
// inputs, of which only shapes are read, to the gradients of the inputs.
var UpSamplingGrad = op.Declare[UpSamplingParams]("_backward_UpSampling")

func init() {
	UpSampling.Define(op.Spec[UpSamplingParams]{
		Traits: op.Traits{
			Doc: `UpSampling makes images larger by an integer factor.

nearest repeats every element; several inputs are all brought to scale times the extents of the
first, and joined along the channels or added up. bilinear is a Deconvolution per channel with a
learned weight that starts as bilinear interpolation; its inputs are data and weight.`,
			Variadic: true,
		},
		Inputs:    upSamplingInputs,
		Infer:     inferUpSampling,
		InferType: op.FloatType[UpSamplingParams],
		Grad:      upSamplingGrad,
		Ref: func(p UpSamplingParams, c *op.Call) error {
			if p.SampleType == "bilinear" {
				return deconvRef(bilinear(p), c)
			}
			return nearestRef(p, c)
		},
	})
	UpSamplingGrad.Define(op.Spec[UpSamplingParams]{
		Traits: op.Traits{Hidden: true},
		Inputs: func(p UpSamplingParams) []op.Input {
			return append([]op.Input{{Name: "out_grad"}}, nearestInputs(p.NumArgs)...)
		},
		Outputs: func(p UpSamplingParams) []string {
			var names []string
			for _, in := range nearestInputs(p.NumArgs) {
				names = append(names, in.Name)
			}
			return names
		},
		Infer:     inferNearestGrad,
		InferType: op.FloatType[UpSamplingParams],
		Grad: func(g *op.Grad, p UpSamplingParams) []op.Entry {
			in, heads := make([]op.Entry, len(g.Node.In)), make([]op.Entry, len(g.OutGrad))
			for i := range heads {
				heads[i] = g.Head(i)
			}
			in[0] = UpSampling.Apply(p, heads...)
			return in
		},
		Ref: nearestGradRef,
	})
}

func upSamplingInputs(p UpSamplingParams) []op.Input {
	if p.SampleType == "bilinear" {
		return []op.Input{{Name: "data"}, {Name: "weight", Role: op.Param,
			Init: `["bilinear", {}]`}}
	}
	return nearestInputs(max(p.NumArgs, 1))
}

func nearestInputs(n int) []op.Input {
	list := make([]op.Input, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("arg%d", i)
	}
	return list
}

func upSamplingGrad(g *op.Grad, p UpSamplingParams) []op.Entry {
	if p.SampleType == "bilinear" {
		return g.Each(DeconvolutionGrad.Node(bilinear(p), g.Head(0), g.In(0), g.In(1)))
	}
	return g.Each(UpSamplingGrad.Node(p, append([]op.Entry{g.Head(0)}, g.Node.In...)...))
}

// bilinear returns the deconvolution that interpolates each channel.
func bilinear(p UpSamplingParams) DeconvolutionParams {
	k, pad := 2*p.Scale-p.Scale%2, p.Scale/2
	d, err := Deconvolution.Normalize(DeconvolutionParams{Kernel: []int{k, k},
		Stride: []int{p.Scale, p.Scale}, Pad: []int{pad, pad},
		NumFilter: p.NumFilter, NumGroup: p.NumFilter, NoBias: op.Some(true)})
	if err != nil {
		return DeconvolutionParams{}
	}
	return d.(DeconvolutionParams)
}

func inferUpSampling(p UpSamplingParams, in, out []dtype.Shape) error {
	if p.SampleType == "bilinear" {
		if len(in) != 2 {
			return op.Errorf("data", "%d inputs, want data and weight for bilinear", len(in))
		}
		if p.NumFilter < 1 {
			return op.Errorf("num_filter", "%d, want the number of channels for bilinear",
				p.NumFilter)
		}
		return inferDeconv(bilinear(p), in, out)
	}
	if len(in) == 0 {
		return op.Errorf("data", "no inputs, want at least one")
	}
	channels, known := 0, true
	for i := range in {
		if err := op.Require(fmt.Sprintf("arg%d", i), &in[i], unknown(4)); err != nil {
			return err
		}
		if in[i][2] == 0 || in[i][3] == 0 {
			return op.Errorf(fmt.Sprintf("arg%d", i), "shape %v, want images with elements", in[i])
		}
		channels, known = channels+in[i][1], known && in[i][1] != -1
	}
	y := dtype.Shape{in[0][0], channels, scaled(in[0][2], p.Scale), scaled(in[0][3], p.Scale)}
	switch {
	case p.MultiInputMode == "sum":
		y[1] = in[0][1]
	case !known:
		y[1] = -1
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	return inferNearestInputs(p, in, out[0])
}

// inferNearestInputs infers shapes of inputs from the shape of the output.
func inferNearestInputs(p UpSamplingParams, in []dtype.Shape, out dtype.Shape) error {
	for i := range in {
		name := fmt.Sprintf("arg%d", i)
		x := dtype.Shape{out[0], -1, -1, -1}
		if p.MultiInputMode == "sum" || len(in) == 1 {
			x[1] = out[1]
		}
		for a := 2; a < 4; a++ {
			n, m := in[i][a], out[a]
			switch {
			case i == 0 && m != -1 && m%p.Scale != 0:
				return op.Errorf("output", "shape %v, want multiples of scale %d", out, p.Scale)
			case i == 0 && m != -1:
				x[a] = m / p.Scale
			case n != -1 && m != -1 && (n == 0 || m%n != 0):
				return op.Errorf(name, "shape %v, want extents that divide those of the output %v",
					in[i], out)
			}
		}
		if err := op.Require(name, &in[i], x); err != nil {
			return err
		}
	}
	return nil
}

func scaled(n, scale int) int {
	if n == -1 {
		return -1
	}
	return n * scale
}

func inferNearestGrad(p UpSamplingParams, in, out []dtype.Shape) error {
	for i := range out {
		if err := op.Same("gradient", &in[1+i], &out[i]); err != nil {
			return err
		}
	}
	fout := []dtype.Shape{in[0]}
	if err := inferUpSampling(p, in[1:], fout); err != nil {
		return err
	}
	in[0] = fout[0]
	for i := range out {
		out[i] = in[1+i].Clone()
	}
	return nil
}

// eachNearest visits all elements of input number k with the elements of the output that repeat
// them; first is the number of channels of earlier inputs.
func eachNearest(p UpSamplingParams, in, out dtype.Shape, first int, f func(in, out int)) {
	if p.MultiInputMode == "sum" {
		first = 0
	}
	fh, fw := out[2]/in[2], out[3]/in[3]
	for n := range in[0] {
		for c := range in[1] {
			for h := range out[2] {
				for w := range out[3] {
					f(((n*in[1]+c)*in[2]+h/fh)*in[3]+w/fw, ((n*out[1]+first+c)*out[2]+h)*out[3]+w)
				}
			}
		}
	}
}

func nearestRef(p UpSamplingParams, c *op.Call) error {
	y, first := make([]float64, c.Out[0].Shape.Size()), 0
	for _, t := range c.In {
		x := loop.Floats(t)
		eachNearest(p, t.Shape, c.Out[0].Shape, first, func(in, out int) { y[out] += x[in] })
		first += t.Shape[1]
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

func nearestGradRef(p UpSamplingParams, c *op.Call) error {
	dy, first := loop.Floats(c.In[0]), 0
	for _, t := range c.Out {
		if t.Data != nil {
			dx := make([]float64, t.Shape.Size())
			eachNearest(p, t.Shape, c.In[0].Shape, first, func(in, out int) { dx[in] += dy[out] })
			loop.Store(t, 0, dx)
		}
		first += t.Shape[1]
	}
	return nil
}
