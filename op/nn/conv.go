package nn

import (
	"gomx/device"
	"gomx/dtype"
	"gomx/op"
)

// ConvolutionParams configures Convolution.
type ConvolutionParams struct {
	Kernel    []int       `op:"kernel,required" doc:"extent of the window: (w), (h, w) or (d, h, w)"`
	Stride    []int       `op:"stride" doc:"step of the window, 1 by default"`
	Dilate    []int       `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad       []int       `op:"pad" doc:"zeros added on both sides, 0 by default"`
	NumFilter int         `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup  int         `op:"num_group" default:"1" min:"1" doc:"number of groups that channels are divided into"`
	Workspace op.Opt[int] `op:"workspace" default:"1024" doc:"accepted for compatibility, without effect"`
	NoBias    bool        `op:"no_bias" doc:"leave the bias out"`
	CudnnTune string      `op:"cudnn_tune" default:"None" enum:"None|off|limited_workspace|fastest" doc:"accepted for compatibility, without effect"`
	CudnnOff  bool        `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
	Layout    string      `op:"layout" default:"None" enum:"None|NCW|NCHW|NCDHW|NHWC|NDHWC" doc:"order of axes; only those with channels second are supported"`
}

// Convolution is the convolution layer over one, two or three spatial axes.
var Convolution = op.Declare[ConvolutionParams]("Convolution")

// ConvolutionGrad is the gradient of Convolution: from the gradient of the output, data and
// weight to the gradients of data, weight and bias.
var ConvolutionGrad = op.Declare[ConvolutionParams]("_backward_Convolution")

func init() {
	Convolution.Define(op.Spec[ConvolutionParams]{
		Traits: op.Traits{
			Doc: `Convolution slides a window over the spatial axes and applies an affine map to it.

Data has shape (n, c, [d,] [h,] w), the weight (num_filter, c/num_group, kernel...), the bias
(num_filter), the output (n, num_filter, ...) with spatial extents
floor((x + 2·pad - dilate·(kernel-1) - 1)/stride) + 1. With num_group g, the channels fall into
g groups that are convolved separately.`,
			Aliases:   []string{"_npx_convolution", "Convolution_v1"},
			Legacy:    []string{"Convolution_v1"},
			Layouts:   true,
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs:    func(p ConvolutionParams) []op.Input { return weighted(p.NoBias) },
		Infer:     inferConv,
		InferType: op.FloatType[ConvolutionParams],
		Grad: func(g *op.Grad, p ConvolutionParams) []op.Entry {
			return g.Each(ConvolutionGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		FLOPs: func(_ ConvolutionParams, in, out []dtype.Shape) int64 {
			return weightedFLOPs(in, out[0])
		},
		Product: func(p ConvolutionParams, in []dtype.Shape) device.Product {
			if p.NumGroup > 1 && p.NumGroup == in[0][1] {
				return device.Depthwise
			}
			return device.Convolutions
		},
		Ref: convRef,
	})
	ConvolutionGrad.Define(op.Spec[ConvolutionParams]{
		Traits:  op.Traits{Hidden: true, Layouts: true},
		Inputs:  inputs[ConvolutionParams]("out_grad", "data", "weight"),
		Outputs: func(p ConvolutionParams) []string { return weightedGrads(p.NoBias) },
		Infer: backward(inferConv, func(p ConvolutionParams) int {
			return len(weighted(p.NoBias))
		}, 0, 1),
		InferType: op.FloatType[ConvolutionParams],
		Grad: func(g *op.Grad, p ConvolutionParams) []op.Entry {
			plain := p
			plain.NoBias = true
			return weightedSecond(g, Convolution, ConvolutionGrad, plain, 1)
		},
		FLOPs: func(_ ConvolutionParams, in, out []dtype.Shape) int64 {
			return weightedGradFLOPs(in, in[0], out)
		},
		Ref: convGradRef,
	})
}

func inferConv(p ConvolutionParams, in, out []dtype.Shape) error {
	if err := checkWindow(p.Kernel, p.Stride, p.Dilate, p.Pad); err != nil {
		return err
	}
	if err := channelFirst(p.Layout); err != nil {
		return err
	}
	if p.NumFilter%p.NumGroup != 0 {
		return op.Errorf("num_filter", "%d, want a multiple of num_group %d", p.NumFilter,
			p.NumGroup)
	}
	axes := len(p.Kernel)
	if err := op.Require("data", &in[0], unknown(axes+2)); err != nil {
		return err
	}
	y := unknown(axes + 2)
	y[0], y[1] = in[0][0], p.NumFilter
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	if err := inferConvWeights(p, in); err != nil {
		return err
	}
	return inferConvExtents(p, in, out)
}

// inferConvWeights relates the channels of data with weight and bias.
func inferConvWeights(p ConvolutionParams, in []dtype.Shape) error {
	c := in[0][1]
	if c != -1 {
		if c%p.NumGroup != 0 {
			return op.Errorf("data", "shape %v has %d channels, want a multiple of num_group %d",
				in[0], c, p.NumGroup)
		}
		c /= p.NumGroup
	}
	if err := op.Require("weight", &in[1], append(dtype.Shape{p.NumFilter, c},
		p.Kernel...)); err != nil {
		return err
	}
	if !p.NoBias {
		if _, err := vector("bias", &in[2], p.NumFilter); err != nil {
			return err
		}
	}
	x := unknown(len(in[0]))
	if in[1][1] != -1 {
		x[1] = in[1][1] * p.NumGroup
	}
	return op.Require("data", &in[0], x)
}

// inferConvExtents relates the spatial extents of data and output. Backwards that is possible
// where the window moves by one.
func inferConvExtents(p ConvolutionParams, in, out []dtype.Shape) error {
	x, y := in[0].Clone(), out[0].Clone()
	x[0] = y[0]
	for i, k := range p.Kernel {
		s, pad := at(p.Stride, i, 1), at(p.Pad, i, 0)
		reach := at(p.Dilate, i, 1)*(k-1) + 1
		if n := x[2+i]; n != -1 {
			if n+2*pad < reach {
				return op.Errorf("data",
					"shape %v: the kernel reaches over %d elements of axis %d, which has %d "+
						"with padding", in[0], reach, 2+i, n+2*pad)
			}
			y[2+i] = (n+2*pad-reach)/s + 1
		} else if m := out[0][2+i]; m != -1 && s == 1 {
			x[2+i] = m - 2*pad + reach - 1
		}
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	return op.Require("data", &in[0], x)
}
