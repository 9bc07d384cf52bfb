package nn

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/loop"
)

// DeconvolutionParams configures Deconvolution.
type DeconvolutionParams struct {
	Kernel      []int        `op:"kernel,required" doc:"extent of the window: (w), (h, w) or (d, h, w)"`
	Stride      []int        `op:"stride" doc:"distance of neighbouring inputs in the output, 1 by default"`
	Dilate      []int        `op:"dilate" doc:"distance of neighbouring window elements, 1 by default"`
	Pad         []int        `op:"pad" doc:"elements cut off on both sides, 0 by default"`
	Adj         []int        `op:"adj" doc:"elements added at the end, below the stride, 0 by default"`
	TargetShape []int        `op:"target_shape" doc:"extents of the output, from which pad and adj are computed"`
	NumFilter   int          `op:"num_filter,required" min:"1" doc:"number of output channels"`
	NumGroup    int          `op:"num_group" default:"1" min:"1" doc:"number of groups that channels are divided into"`
	Workspace   op.Opt[int]  `op:"workspace" default:"512" doc:"accepted for compatibility, without effect"`
	NoBias      op.Opt[bool] `op:"no_bias" default:"True" doc:"leave the bias out"`
	CudnnTune   string       `op:"cudnn_tune" default:"None" enum:"None|off|limited_workspace|fastest" doc:"accepted for compatibility, without effect"`
	CudnnOff    bool         `op:"cudnn_off" doc:"accepted for compatibility, without effect"`
	Layout      string       `op:"layout" default:"None" enum:"None|NCW|NCHW|NCDHW|NHWC|NDHWC" doc:"order of axes; only those with channels second are supported"`
}

// Deconvolution is the transposed convolution over one, two or three spatial axes.
var Deconvolution = op.Declare[DeconvolutionParams]("Deconvolution")

// DeconvolutionGrad is the gradient of Deconvolution: from the gradient of the output, data and
// weight to the gradients of data, weight and bias.
var DeconvolutionGrad = op.Declare[DeconvolutionParams]("_backward_Deconvolution")

func init() {
	Deconvolution.Define(op.Spec[DeconvolutionParams]{
		Traits: op.Traits{
			Doc: `Deconvolution (transposed convolution) is the gradient of a convolution by its data, as a layer.

Data has shape (n, c, [d,] [h,] w), the weight (c, num_filter/num_group, kernel...), the bias
(num_filter), the output (n, num_filter, ...) with spatial extents
stride·(x - 1) + dilate·(kernel - 1) + 1 - 2·pad + adj. With target_shape, pad and adj are chosen
to give these extents.`,
			Aliases:   []string{"_npx_deconvolution"},
			Precision: op.Narrow,
			Kind:      op.Product,
		},
		Inputs:    func(p DeconvolutionParams) []op.Input { return weighted(p.NoBias.Value()) },
		Infer:     inferDeconv,
		InferType: op.FloatType[DeconvolutionParams],
		Grad: func(g *op.Grad, p DeconvolutionParams) []op.Entry {
			return g.Each(DeconvolutionGrad.Node(p, g.Head(0), g.In(0), g.In(1)))
		},
		FLOPs: deconvFLOPs,
		Ref:   deconvRef,
	})
	DeconvolutionGrad.Define(op.Spec[DeconvolutionParams]{
		Traits:  op.Traits{Hidden: true},
		Inputs:  inputs[DeconvolutionParams]("out_grad", "data", "weight"),
		Outputs: func(p DeconvolutionParams) []string { return weightedGrads(p.NoBias.Value()) },
		Infer: backward(inferDeconv,
			func(p DeconvolutionParams) int { return len(weighted(p.NoBias.Value())) }, 0, 1),
		InferType: op.FloatType[DeconvolutionParams],
		Grad: func(g *op.Grad, p DeconvolutionParams) []op.Entry {
			plain := p
			plain.NoBias = op.Some(true)
			return weightedSecond(g, Deconvolution, DeconvolutionGrad, plain, 1)
		},
		FLOPs: func(_ DeconvolutionParams, in, out []dtype.Shape) int64 {
			return weightedGradFLOPs(in, in[1], out)
		},
		Ref: deconvGradRef,
	})
}

// deconvFLOPs counts the products that spread each element of the data.
func deconvFLOPs(_ DeconvolutionParams, in, out []dtype.Shape) int64 {
	return products(in[1], in[0]) + biasFLOPs(len(in) > 2, out[0])
}

// hasTarget reports whether target_shape is in use; zeros mean that it is not.
func hasTarget(p DeconvolutionParams) bool {
	for _, n := range p.TargetShape {
		if n != 0 {
			return true
		}
	}
	return false
}

// deconvMargins returns pad and adj of spatial axis i for extent n of the data.
func deconvMargins(p DeconvolutionParams, i, n int) (pad, adj int, err error) {
	if !hasTarget(p) {
		return at(p.Pad, i, 0), at(p.Adj, i, 0), nil
	}
	full := at(p.Stride, i, 1)*(n-1) + at(p.Dilate, i, 1)*(p.Kernel[i]-1) + 1
	extra := full - p.TargetShape[i]
	if extra < 0 {
		return 0, 0, op.Errorf("target_shape", "%v, but spatial axis %d gives only %d elements",
			p.TargetShape, i, full)
	}
	return (extra + 1) / 2, extra % 2, nil
}

func checkDeconv(p DeconvolutionParams) error {
	if err := checkWindow(p.Kernel, p.Stride, p.Dilate, p.Pad); err != nil {
		return err
	}
	if err := checkList("adj", p.Adj, len(p.Kernel), 0); err != nil {
		return err
	}
	if err := checkList("target_shape", p.TargetShape, len(p.Kernel), 0); err != nil {
		return err
	}
	for i, a := range p.Adj {
		if s := at(p.Stride, i, 1); a >= s && !hasTarget(p) {
			return op.Errorf("adj", "%v, want less than the stride %v", p.Adj, p.Stride)
		}
	}
	if p.NumFilter%p.NumGroup != 0 {
		return op.Errorf("num_filter", "%d, want a multiple of num_group %d", p.NumFilter,
			p.NumGroup)
	}
	return channelFirst(p.Layout)
}

func inferDeconv(p DeconvolutionParams, in, out []dtype.Shape) error {
	if err := checkDeconv(p); err != nil {
		return err
	}
	axes := len(p.Kernel)
	if err := op.Require("data", &in[0], unknown(axes+2)); err != nil {
		return err
	}
	if err := op.Require("weight", &in[1], append(dtype.Shape{in[0][1], p.NumFilter / p.NumGroup},
		p.Kernel...)); err != nil {
		return err
	}
	if !p.NoBias.Value() {
		if _, err := vector("bias", &in[2], p.NumFilter); err != nil {
			return err
		}
	}
	x, y := unknown(axes+2), unknown(axes+2)
	y[0], y[1] = in[0][0], p.NumFilter
	if c := in[1][0]; c != -1 && c%p.NumGroup != 0 {
		return op.Errorf("data", "%d channels, want a multiple of num_group %d", c, p.NumGroup)
	}
	for i := range axes {
		n := in[0][2+i]
		if n == -1 {
			continue
		}
		m, err := deconvExtent(p, i, n)
		if err != nil {
			return err
		}
		y[2+i] = m
	}
	if err := op.Require("output", &out[0], y); err != nil {
		return err
	}
	x[0], x[1] = out[0][0], in[1][0]
	return op.Require("data", &in[0], x)
}

// deconvExtent returns the extent of the output along spatial axis i.
func deconvExtent(p DeconvolutionParams, i, n int) (int, error) {
	pad, adj, err := deconvMargins(p, i, n)
	if err != nil {
		return 0, err
	}
	m := at(p.Stride, i, 1)*(n-1) + at(p.Dilate, i, 1)*(p.Kernel[i]-1) + 1 - 2*pad + adj
	if m < 1 {
		return 0, op.Errorf("pad", "%v leaves nothing of spatial axis %d", p.Pad, i)
	}
	return m, nil
}

// newTransposed describes the convolution whose gradient by data the layer is: from the output's
// channels to the channels of the data.
func newTransposed(p DeconvolutionParams, data, output dtype.Shape) *convolution {
	pad := make([]int, len(p.Kernel))
	for i := range pad {
		pad[i], _, _ = deconvMargins(p, i, data[2+i])
	}
	return &convolution{
		window: newWindow(output[2:], data[2:], p.Kernel, p.Stride, p.Dilate, pad),
		batch:  data[0], groups: p.NumGroup, inChan: output[1], outChan: data[1],
	}
}

func deconvRef(p DeconvolutionParams, c *op.Call) error {
	g := newTransposed(p, c.In[0].Shape, c.Out[0].Shape)
	y := make([]float64, c.Out[0].Shape.Size())
	g.backData(y, loop.Floats(c.In[0]), loop.Floats(c.In[1]))
	if !p.NoBias.Value() {
		addBias(y, loop.Floats(c.In[2]), volume(g.in))
	}
	loop.Store(c.Out[0], 0, y)
	return nil
}

func deconvGradRef(p DeconvolutionParams, c *op.Call) error {
	g := newTransposed(p, c.In[1].Shape, c.In[0].Shape)
	dy := loop.Floats(c.In[0])
	if c.Out[0].Data != nil {
		dx := make([]float64, c.Out[0].Shape.Size())
		g.forward(dx, dy, loop.Floats(c.In[2]))
		loop.Store(c.Out[0], 0, dx)
	}
	if c.Out[1].Data != nil {
		dw := make([]float64, c.Out[1].Shape.Size())
		g.backWeight(dw, loop.Floats(c.In[1]), dy)
		loop.Store(c.Out[1], 0, dw)
	}
	if !p.NoBias.Value() && c.Out[2].Data != nil {
		loop.Store(c.Out[2], 0, sumChannels(dy, g.inChan, volume(g.in)))
	}
	return nil
}
