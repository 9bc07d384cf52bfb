package rnn

import sym "gomx/symbol"

// Conv describes a cell with convolutions instead of products: over the input of a step, which has
// the layout NCHW, and over the last output. Where a pair of numbers is nil, MXNet's default holds.
type Conv struct {
	Input  []int // shape of the input of one step, (n, channels, height, width)
	Hidden int   // channels of the output

	Kernel  []int // height and width of the window over the input; 3 by default
	Stride  []int // steps of this window; 1 by default
	Pad     []int // zeros around the input; 1 by default
	Dilate  []int // distances of neighbouring elements of this window; 1 by default
	HKernel []int // height and width of the window over the last output, odd; 3 by default
	HDilate []int // distances of neighbouring elements of this window; 1 by default

	Activation string   // of the operator Activation; empty: LeakyReLU of slope 0.2
	Activate   Activate // composes the activation in place of Activation; nil: Activation

	Init   ConvInit
	Prefix string  // of the names; "ConvRNN_", "ConvLSTM_" or "ConvGRU_" by default
	Params *Params // variables of the parameters; nil: the cell has its own
}

// ConvInit has initializers of parameters as texts; see symbol.Init. An empty text of a weight leaves
// it to the initializer of the model, of a bias it is zeros.
type ConvInit struct{ I2HWeight, H2HWeight, I2HBias, H2HBias string }

// pair returns two numbers, or a default for both.
func pair(list []int, other int) []int {
	if list == nil {
		return []int{other, other}
	}
	return list
}

// check panics where the description makes no sense.
func (c *Conv) check(cell string) {
	kernel := pair(c.HKernel, 3)
	for _, l := range [][]int{pair(c.Kernel, 3), pair(c.Stride, 1), pair(c.Pad, 1),
		pair(c.Dilate, 1), kernel, pair(c.HDilate, 1)} {
		if len(l) != 2 {
			panic(misuse(cell, "%v, want two numbers", l))
		}
	}
	switch {
	case len(c.Input) != 4:
		panic(misuse(cell, "an input of shape %v, want (n, channels, height, width)", c.Input))
	case kernel[0]%2 == 0 || kernel[1]%2 == 0:
		panic(misuse(cell, "HKernel %v, want odd numbers", kernel))
	}
}

// shape is the shape of a state, with 0 for the batch.
func (c *Conv) shape() []int {
	kernel, stride := pair(c.Kernel, 3), pair(c.Stride, 1)
	pad, dilate := pair(c.Pad, 1), pair(c.Dilate, 1)
	shape := []int{0, c.Hidden}
	for i, n := range c.Input[2:] {
		shape = append(shape, (n+2*pad[i]-dilate[i]*(kernel[i]-1)-1)/stride[i]+1)
	}
	return shape
}

// activation composes the activation.
func (c *Conv) activation(x *sym.Symbol, opts ...sym.Option) *sym.Symbol {
	if c.Activate != nil {
		return c.Activate(x, opts...)
	}
	if c.Activation != "" {
		return activate(x, c.Activation, opts...)
	}
	return sym.LeakyReLU(x, sym.LeakyReLUParams{Slope: sym.Some(0.2)}, opts...)
}

// initially returns the option of an initializer, none if the text is empty.
func initially(text string) []sym.Option {
	if text == "" {
		return nil
	}
	return []sym.Option{sym.Init(text)}
}

// both composes the contributions of the input and of the last output to n gates.
func (c *Conv) both(x, h *sym.Symbol, p *Params, name string, n int) (i2h, h2h *sym.Symbol) {
	kernel, dilate := pair(c.HKernel, 3), pair(c.HDilate, 1)
	pad := []int{dilate[0] * (kernel[0] - 1) / 2, dilate[1] * (kernel[1] - 1) / 2}
	of := func(part string, in *sym.Symbol, conv sym.ConvolutionParams, weight,
		bias string) *sym.Symbol {
		conv.NumFilter, conv.Layout = n*c.Hidden, "NCHW"
		return sym.Convolution(in, conv, sym.Name(name+part),
			sym.With("weight", p.Get(part+"_weight", initially(weight)...)),
			sym.With("bias", p.Get(part+"_bias", initially(or(bias, "zeros"))...)))
	}
	i2h = of("i2h", x, sym.ConvolutionParams{Kernel: pair(c.Kernel, 3), Stride: pair(c.Stride, 1),
		Pad: pair(c.Pad, 1), Dilate: pair(c.Dilate, 1)}, c.Init.I2HWeight, c.Init.I2HBias)
	h2h = of("h2h", h, sym.ConvolutionParams{Kernel: kernel, Stride: []int{1, 1}, Pad: pad,
		Dilate: dilate}, c.Init.H2HWeight, c.Init.H2HBias)
	return i2h, h2h
}

// ConvRNNCell is RNNCell with convolutions.
//
// MXNet: rnn.ConvRNNCell.
type ConvRNNCell struct {
	Conv
	basis
}

// States returns 1.
func (c *ConvRNNCell) States() int { return 1 }

func (c *ConvRNNCell) prefix() string  { return or(c.Prefix, "ConvRNN_") }
func (c *ConvRNNCell) params() *Params { return c.choose(c.Params, c.prefix()) }

// Begin returns a state of zeros.
func (c *ConvRNNCell) Begin() []*sym.Symbol {
	c.check("ConvRNNCell")
	return c.begin(c.prefix(), "NCHW", 1, c.shape()...)
}

// Step composes the output, which is the new state.
func (c *ConvRNNCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	c.check("ConvRNNCell")
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.params(), name, 1)
	y := c.activation(sym.ElemwiseAdd(i2h, h2h), sym.Name(name+"out"))
	return y, []*sym.Symbol{y}
}

// ConvLSTMCell is LSTMCell with convolutions (Shi et al., Convolutional LSTM Network).
//
// MXNet: rnn.ConvLSTMCell.
type ConvLSTMCell struct {
	Conv
	basis
}

// States returns 2.
func (c *ConvLSTMCell) States() int { return 2 }

func (c *ConvLSTMCell) prefix() string  { return or(c.Prefix, "ConvLSTM_") }
func (c *ConvLSTMCell) params() *Params { return c.choose(c.Params, c.prefix()) }

// Begin returns two states of zeros: the output and the memory.
func (c *ConvLSTMCell) Begin() []*sym.Symbol {
	c.check("ConvLSTMCell")
	return c.begin(c.prefix(), "NCHW", 2, c.shape()...)
}

// Step composes the output and the new states.
func (c *ConvLSTMCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	c.check("ConvLSTMCell")
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.params(), name, 4)
	return lstm(sym.ElemwiseAdd(i2h, h2h), states[1], name, c.activation)
}

// ConvGRUCell is GRUCell with convolutions.
//
// MXNet: rnn.ConvGRUCell.
type ConvGRUCell struct {
	Conv
	basis
}

// States returns 1.
func (c *ConvGRUCell) States() int { return 1 }

func (c *ConvGRUCell) prefix() string  { return or(c.Prefix, "ConvGRU_") }
func (c *ConvGRUCell) params() *Params { return c.choose(c.Params, c.prefix()) }

// Begin returns a state of zeros.
func (c *ConvGRUCell) Begin() []*sym.Symbol {
	c.check("ConvGRUCell")
	return c.begin(c.prefix(), "NCHW", 1, c.shape()...)
}

// Step composes the output, which is the new state.
func (c *ConvGRUCell) Step(x *sym.Symbol, states []*sym.Symbol) (*sym.Symbol, []*sym.Symbol) {
	c.check("ConvGRUCell")
	name := c.next(c.prefix())
	i2h, h2h := c.both(x, states[0], c.params(), name, 3)
	return gru(i2h, h2h, states[0], name, c.activation)
}
