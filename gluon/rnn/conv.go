package rnn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// ConvConfig describes the convolutions of a cell. Its input has the shape (n, channels, extents…).
type ConvConfig struct {
	Input      nd.Shape // channels and extents of the input of one step
	Hidden     int      // channels of the output
	Kernel     []int    // extents of the window over the input; one number holds for all axes
	HKernel    []int    // extents of the window over the last output, odd numbers
	Pad        []int    // zeros around the input; 0 by default
	Dilation   []int    // of the window over the input; 1 by default
	HDilation  []int    // of the window over the last output; 1 by default
	Activation string   // "tanh" by default
	Init       Inits    `gluon:"-"`
}

// axes is the number of extents.
func (c *ConvConfig) axes() int { return len(c.Input) - 1 }

// list repeats one number, or a value that stands for an empty list, for all axes.
func (c *ConvConfig) list(l []int, other int) []int {
	out := make([]int, c.axes())
	for i := range out {
		switch len(l) {
		case 0:
			out[i] = other
		case 1:
			out[i] = l[0]
		default:
			out[i] = l[i]
		}
	}
	return out
}

// state is the shape of a state.
func (c *ConvConfig) state(n int) nd.Shape {
	shape := nd.Shape{n, c.Hidden}
	kernel, pad, dilation := c.list(c.Kernel, 1), c.list(c.Pad, 0), c.list(c.Dilation, 1)
	for i, d := range c.Input[1:] {
		shape = append(shape, d+2*pad[i]-dilation[i]*(kernel[i]-1))
	}
	return shape
}

// declareConv declares the parameters of n gates.
func (g *Gates) declareConv(c *ConvConfig, n int) {
	g.declare(n, c.Hidden, c.Input[0], c.Hidden, c.Init)
	if len(g.I2HWeight.Shape) == 2 {
		g.I2HWeight.Shape = append(g.I2HWeight.Shape, c.list(c.Kernel, 1)...)
		g.H2HWeight.Shape = append(g.H2HWeight.Shape, c.list(c.HKernel, 1)...)
	}
}

// convolve returns the contributions of the input and of the last output to n gates.
func (g *Gates) convolve(c *ConvConfig, x, h *nd.Array, n int) (i2h, h2h *nd.Array) {
	hk, hd := c.list(c.HKernel, 1), c.list(c.HDilation, 1)
	pad := make([]int, len(hk))
	for i := range pad {
		pad[i] = hd[i] * (hk[i] - 1) / 2
	}
	i2h = nd.Convolution(x, g.I2HWeight.At(x), g.I2HBias.At(x), nd.ConvolutionParams{
		Kernel: c.list(c.Kernel, 1), Pad: c.list(c.Pad, 0), Dilate: c.list(c.Dilation, 1),
		NumFilter: n * c.Hidden})
	h2h = nd.Convolution(h, g.H2HWeight.At(x), g.H2HBias.At(x), nd.ConvolutionParams{
		Kernel: hk, Pad: pad, Dilate: hd, NumFilter: n * c.Hidden})
	return i2h, h2h
}

// ConvRNNCell is RNNCell with convolutions instead of products.
//
// MXNet: gluon.contrib.rnn.Conv1DRNNCell, Conv2DRNNCell and Conv3DRNNCell.
type ConvRNNCell struct {
	gluon.Hooks
	ConvConfig `gluon:"-"`
	Gates
}

// Declare declares the parameters.
func (c *ConvRNNCell) Declare() { c.declareConv(&c.ConvConfig, 1) }

// States returns the shape of the output.
func (c *ConvRNNCell) States(n int) []nd.Shape { return []nd.Shape{c.state(n)} }

// Step computes the output, which is the new state.
func (c *ConvRNNCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0])
	x, states = oneTape(x, states)
	i, h := c.convolve(&c.ConvConfig, x, states[0], 1)
	y := function(i.Add(h), or(c.Activation, "tanh"))
	return call.Leave(y, y), []*nd.Array{y}
}

// ConvLSTMCell is LSTMCell with convolutions instead of products (Shi et al., Convolutional LSTM
// Network).
//
// MXNet: gluon.contrib.rnn.Conv1DLSTMCell, Conv2DLSTMCell and Conv3DLSTMCell.
type ConvLSTMCell struct {
	gluon.Hooks
	ConvConfig `gluon:"-"`
	Gates
}

// Declare declares the parameters.
func (c *ConvLSTMCell) Declare() { c.declareConv(&c.ConvConfig, 4) }

// States returns the shapes of the output and the memory.
func (c *ConvLSTMCell) States(n int) []nd.Shape { return []nd.Shape{c.state(n), c.state(n)} }

// Step computes the output and the new states.
func (c *ConvLSTMCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0], states[1])
	x, states = oneTape(x, states)
	i, h := c.convolve(&c.ConvConfig, x, states[0], 4)
	y, memory := lstm(i.Add(h), states[1], 1, or(c.Activation, "tanh"), "sigmoid")
	return call.Leave(y, y, memory), []*nd.Array{y, memory}
}

// ConvGRUCell is GRUCell with convolutions instead of products.
//
// MXNet: gluon.contrib.rnn.Conv1DGRUCell, Conv2DGRUCell and Conv3DGRUCell.
type ConvGRUCell struct {
	gluon.Hooks
	ConvConfig `gluon:"-"`
	Gates
}

// Declare declares the parameters.
func (c *ConvGRUCell) Declare() { c.declareConv(&c.ConvConfig, 3) }

// States returns the shape of the output.
func (c *ConvGRUCell) States(n int) []nd.Shape { return []nd.Shape{c.state(n)} }

// Step computes the output, which is the new state.
func (c *ConvGRUCell) Step(x *nd.Array, states []*nd.Array) (*nd.Array, []*nd.Array) {
	if c.I2HWeight == nil {
		c.Declare()
	}
	call := c.Enter(c, x, states[0])
	x, states = oneTape(x, states)
	i, h := c.convolve(&c.ConvConfig, x, states[0], 3)
	y := gru(i, h, states[0], 1, or(c.Activation, "tanh"), "sigmoid")
	return call.Leave(y, y), []*nd.Array{y}
}
