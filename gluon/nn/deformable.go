package nn

import (
	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// DeformableConvolution convolves pictures with a window whose elements are moved by offsets. A
// convolution of the same window computes the offsets (Dai et al., Deformable Convolutional
// Networks). With Modulated it computes a factor for each window element, too (Zhu et al.,
// Deformable ConvNets v2).
//
// MXNet: gluon.contrib.cnn.DeformableConvolution and ModulatedDeformableConvolution.
type DeformableConvolution struct {
	gluon.Hooks
	Channels   int    // of the output
	Kernel     []int  // height and width of the window; 1 by default; see Square
	Strides    []int  // steps of the window; 1 by default; one number holds for both axes
	Pad        []int  // zeros on both sides; 0 by default; likewise
	Dilation   []int  // distances of neighbouring window elements; 1 by default; likewise
	Groups     int    // groups of channels that do not mix; 0 is 1
	InChannels int    // of the input; 0: found by the first call
	NoBias     bool   // leave the bias out
	Activation string // see Dense; empty: none

	DeformableConfig `gluon:"-"`

	OffsetWeight *gluon.Param
	OffsetBias   *gluon.Param
	Weight       *gluon.Param `gluon:"deformable_conv_weight"`
	Bias         *gluon.Param `gluon:"deformable_conv_bias"`
}

// DeformableConfig describes the convolution that computes offsets, and the initializers.
type DeformableConfig struct {
	OffsetGroups int  // groups of input channels with offsets of their own; 0 is 1
	NoOffsetBias bool // leave the bias of the offsets out
	Modulated    bool // compute a factor for each window element beside its offset
	Init         DeformableInits
}

// DeformableInits are initializers of the parameters of DeformableConvolution. A nil one is the
// network's for Weight, zeros for the others.
type DeformableInits struct{ Weight, Bias, OffsetWeight, OffsetBias initializer.Initializer }

// offsets returns the number of channels that the convolution of the offsets has.
func (d *DeformableConvolution) offsets() int {
	perElement := 2
	if d.Modulated {
		perElement = 3
	}
	kernel := d.kernel()
	return perElement * max(1, d.OffsetGroups) * kernel[0] * kernel[1]
}

// kernel returns the height and the width of the window.
func (d *DeformableConvolution) kernel() []int {
	if len(d.Kernel) == 0 {
		return []int{1, 1}
	}
	return each(d.Kernel, 2)
}

// Declare declares the parameters.
func (d *DeformableConvolution) Declare() {
	offsetInit := d.Init.OffsetWeight
	if offsetInit == nil {
		offsetInit = initializer.Zero{}
	}
	channels, groups := d.offsets(), max(1, d.Groups)
	offset := gluon.Spec{Init: offsetInit,
		Shape: append(nd.Shape{channels, d.InChannels / groups}, d.kernel()...)}
	weight := gluon.Spec{Init: d.Init.Weight,
		Shape: append(nd.Shape{d.Channels, d.InChannels / groups}, d.kernel()...)}
	weightAndBias(&d.OffsetWeight, &d.OffsetBias, offset,
		gluon.BiasSpec(channels, d.Init.OffsetBias), d.NoOffsetBias)
	weightAndBias(&d.Weight, &d.Bias, weight, gluon.BiasSpec(d.Channels, d.Init.Bias), d.NoBias)
}

// Forward returns the convolution.
func (d *DeformableConvolution) Forward(x *nd.Array) *nd.Array {
	if d.Weight == nil {
		d.Declare()
	}
	call := d.Enter(d, x)
	kernel, groups, channels := d.kernel(), max(1, d.Groups), d.offsets()
	extents := append([]int{0, extent(x, 1) / groups}, kernel...)
	stride, pad, dilate := each(d.Strides, 2), each(d.Pad, 2), each(d.Dilation, 2)
	offset := nd.Convolution(x, d.OffsetWeight.At(x, extents...), at(d.OffsetBias, x),
		nd.ConvolutionParams{Kernel: kernel, Stride: stride, Pad: pad, Dilate: dilate,
			NumFilter: channels, NumGroup: groups, NoBias: d.NoOffsetBias})
	weight, bias := d.Weight.At(x, extents...), at(d.Bias, x)
	if !d.Modulated {
		return call.Leave(activate(nd.DeformableConvolution(x, offset, weight, bias,
			nd.DeformableConvolutionParams{Kernel: kernel, Stride: stride, Pad: pad, Dilate: dilate,
				NumFilter: d.Channels, NumGroup: groups,
				NumDeformableGroup: max(1, d.OffsetGroups), NoBias: d.NoBias}), d.Activation))
	}
	moves := channels / 3 * 2
	factor := offset.SliceAxis(1, moves, channels).Sigmoid().MulScalar(2)
	return call.Leave(activate(nd.ModulatedDeformableConvolution(x, offset.SliceAxis(1, 0, moves), factor,
		weight, bias, nd.ModulatedDeformableConvolutionParams{Kernel: kernel, Stride: stride,
			Pad: pad, Dilate: dilate, NumFilter: d.Channels, NumGroup: groups,
			NumDeformableGroup: max(1, d.OffsetGroups), NoBias: d.NoBias}), d.Activation))
}
