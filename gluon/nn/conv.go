package nn

import (
	"slices"

	"gomx/gluon"
	"gomx/initializer"
	nd "gomx/ndarray"
)

// Conv convolves the last axes of its input, as many as Kernel has numbers: one for sequences
// (n, channels, w), two for pictures (n, channels, h, w), three for volumes (n, channels, d, h, w).
//
// MXNet: gluon.nn.Conv1D, Conv2D and Conv3D.
type Conv struct {
	gluon.Hooks
	Channels   int    // of the output
	Kernel     []int  // extents of the window; see Line, Square and Cube
	Strides    []int  // steps of the window; 1 by default; one number holds for all axes
	Pad        []int  // zeros on both sides; 0 by default; one number holds for all axes
	Dilation   []int  // distances of neighbouring window elements; 1 by default; likewise
	Groups     int    // groups of channels that do not mix; 0 is 1
	InChannels int    // of the input; 0: found by the first call
	NoBias     bool   // leave the bias out
	Activation string // see Dense; empty: none

	WeightInit initializer.Initializer // nil: the network's
	BiasInit   initializer.Initializer // nil: zeros

	Weight, Bias *gluon.Param
}

// Conv1D, Conv2D and Conv3D are other names of Conv.
type (
	Conv1D = Conv
	Conv2D = Conv
	Conv3D = Conv
)

// Line is the extent of a window over one axis.
func Line(n int) []int { return []int{n} }

// Square is the extent of a window of equal sides over two axes.
func Square(n int) []int { return []int{n, n} }

// Cube is the extent of a window of equal sides over three axes.
func Cube(n int) []int { return []int{n, n, n} }

// Declare declares the parameters.
func (c *Conv) Declare() {
	weight := gluon.Spec{Init: c.WeightInit,
		Shape: append(nd.Shape{c.Channels, c.InChannels / max(1, c.Groups)}, c.Kernel...)}
	weightAndBias(&c.Weight, &c.Bias, weight, gluon.BiasSpec(c.Channels, c.BiasInit), c.NoBias)
}

// Forward returns the convolution.
func (c *Conv) Forward(x *nd.Array) *nd.Array {
	if c.Weight == nil {
		c.Declare()
	}
	call := c.Enter(c, x)
	groups := max(1, c.Groups)
	shape := append([]int{c.Channels, extent(x, 1) / groups}, c.Kernel...)
	n := len(c.Kernel)
	y := nd.Convolution(x, c.Weight.At(x, shape...), at(c.Bias, x, c.Channels),
		nd.ConvolutionParams{Kernel: c.Kernel, Stride: eachOr(c.Strides, ones, n),
			Pad: eachOr(c.Pad, zeros, n), Dilate: eachOr(c.Dilation, ones, n), NumFilter: c.Channels,
			NumGroup: groups, NoBias: c.NoBias, Layout: layout(n)})
	return call.Leave(activate(y, c.Activation))
}

// ConvTranspose is the gradient of a convolution with respect to its input, as a layer: it enlarges
// its input.
//
// MXNet: gluon.nn.Conv1DTranspose, Conv2DTranspose and Conv3DTranspose.
type ConvTranspose struct {
	gluon.Hooks
	Channels   int    // of the output
	Kernel     []int  // extents of the window
	Strides    []int  // distances of neighbouring inputs in the output; 1 by default
	Pad        []int  // elements cut off on both sides; 0 by default
	OutputPad  []int  // elements added at the end, below the stride; 0 by default
	Dilation   []int  // distances of neighbouring window elements; 1 by default
	Groups     int    // groups of channels that do not mix; 0 is 1
	InChannels int    // of the input; 0: found by the first call
	NoBias     bool   // leave the bias out
	Activation string // see Dense; empty: none

	WeightInit initializer.Initializer // nil: the network's
	BiasInit   initializer.Initializer // nil: zeros

	Weight, Bias *gluon.Param
}

// Conv1DTranspose, Conv2DTranspose and Conv3DTranspose are other names of ConvTranspose.
type (
	Conv1DTranspose = ConvTranspose
	Conv2DTranspose = ConvTranspose
	Conv3DTranspose = ConvTranspose
)

// Declare declares the parameters.
func (c *ConvTranspose) Declare() {
	weight := gluon.Spec{Init: c.WeightInit,
		Shape: append(nd.Shape{c.InChannels, c.Channels / max(1, c.Groups)}, c.Kernel...)}
	weightAndBias(&c.Weight, &c.Bias, weight, gluon.BiasSpec(c.Channels, c.BiasInit), c.NoBias)
}

// Forward returns the enlarged input.
func (c *ConvTranspose) Forward(x *nd.Array) *nd.Array {
	if c.Weight == nil {
		c.Declare()
	}
	call := c.Enter(c, x)
	groups, n := max(1, c.Groups), len(c.Kernel)
	shape := append([]int{extent(x, 1), c.Channels / groups}, c.Kernel...)
	var with []nd.Input
	if c.Bias != nil {
		with = append(with, nd.With("bias", c.Bias.At(x)))
	}
	y := nd.Deconvolution(x, c.Weight.At(x, shape...), nd.DeconvolutionParams{Kernel: c.Kernel,
		Stride: eachOr(c.Strides, ones, n), Pad: eachOr(c.Pad, zeros, n),
		Adj: eachOr(c.OutputPad, zeros, n), Dilate: eachOr(c.Dilation, ones, n),
		NumFilter: c.Channels, NumGroup: groups, NoBias: nd.Some(c.NoBias), Layout: layout(n)},
		with...)
	return call.Leave(activate(y, c.Activation))
}

// each repeats a list of one number for n axes.
func each(list []int, n int) []int {
	if len(list) == 1 && n > 1 {
		return slices.Repeat(list, n)
	}
	return list
}

// ones and zeros are extents by default.
var ones, zeros = []int{1, 1, 1}, []int{0, 0, 0}

// eachOr is each of a list, or of another one that is longer than n, if the list is empty. Exported
// networks state all extents, as MXNet's do.
func eachOr(list, other []int, n int) []int {
	if len(list) == 0 && n <= len(other) {
		return other[:n:n]
	}
	return each(list, n)
}

// layout is the order of the axes of inputs with n axes behind the channels.
func layout(n int) string {
	if n < 1 || n > 3 {
		return ""
	}
	return []string{"NCW", "NCHW", "NCDHW"}[n-1]
}
