package nn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// TransformerConfig describes the layers of a transformer.
type TransformerConfig struct {
	Units      int     // size of inputs and outputs
	Heads      int     // of the attention, a divisor of Units; 0 is 1
	Hidden     int     // size of the inner layer behind the attention; 0 is 4·Units
	Dropout    float64 // share dropped of attention weights, inner values and results, in training
	Activation string  // "relu" or "gelu", or an operator Activation's; "relu" by default
	NormFirst  bool    // normalize the inputs of each part, not its sum with its input
	NoBias     bool    // leave the biases of products out
}

func (c *TransformerConfig) attention(m **MultiHeadAttention) {
	if *m == nil {
		*m = &MultiHeadAttention{Units: c.Units, Heads: c.Heads, NoBias: c.NoBias,
			Dropout: c.Dropout}
	}
}

func (c *TransformerConfig) norm(n **LayerNorm) {
	if *n == nil {
		*n = &LayerNorm{Channels: c.Units}
	}
}

func (c *TransformerConfig) feedForward(f **FeedForward) {
	if *f == nil {
		*f = &FeedForward{Units: c.Units, Hidden: c.Hidden, Activation: c.Activation,
			Dropout: c.Dropout, NoBias: c.NoBias}
	}
}

// add computes x + f(x), normalized before f or afterwards.
func (c *TransformerConfig) add(x *nd.Array, n *LayerNorm,
	f func(x *nd.Array) *nd.Array) *nd.Array {
	if c.NormFirst {
		return x.Add(c.drop(f(n.Forward(x))))
	}
	return n.Forward(x.Add(c.drop(f(x))))
}

func (c *TransformerConfig) drop(x *nd.Array) *nd.Array {
	if c.Dropout == 0 {
		return x
	}
	return nd.Dropout(x, nd.DropoutParams{P: nd.Some(c.Dropout)})
}

// FeedForward computes Outer(activation(Inner(x))) over the last axis: the part of a transformer
// that treats each step on its own.
type FeedForward struct {
	gluon.Hooks
	Units      int     // size of the output
	Hidden     int     // size of the inner layer; 0 is 4·Units
	Activation string  // "relu" or "gelu", or an operator Activation's; "relu" by default
	Dropout    float64 // share of the inner values that is dropped in training
	NoBias     bool    // leave the biases out

	Inner, Outer *Dense
}

// Declare makes the two products.
func (f *FeedForward) Declare() {
	hidden := f.Hidden
	if hidden == 0 {
		hidden = 4 * f.Units
	}
	if f.Inner == nil {
		f.Inner = &Dense{Units: hidden, KeepAxes: true, NoBias: f.NoBias}
	}
	if f.Outer == nil {
		f.Outer = &Dense{Units: f.Units, KeepAxes: true, NoBias: f.NoBias}
	}
}

// Forward computes the products.
func (f *FeedForward) Forward(x *nd.Array) *nd.Array {
	if f.Outer == nil {
		f.Declare()
	}
	call, y := f.Enter(f, x), f.Inner.Forward(x)
	switch f.Activation {
	case "":
		y = y.Relu()
	case "gelu":
		y = GELU{}.Forward(y)
	default:
		y = activate(y, f.Activation)
	}
	if f.Dropout > 0 {
		y = nd.Dropout(y, nd.DropoutParams{P: nd.Some(f.Dropout)})
	}
	return call.Leave(f.Outer.Forward(y))
}

// TransformerEncoderLayer is self-attention followed by FeedForward; the input of each is added to
// its result, and LayerNorm normalizes the sum, or with NormFirst the input.
type TransformerEncoderLayer struct {
	gluon.Hooks
	TransformerConfig `gluon:"-"`

	Attention     *MultiHeadAttention
	AttentionNorm *LayerNorm
	FeedForward   *FeedForward
	FeedNorm      *LayerNorm
}

// Declare makes the parts.
func (l *TransformerEncoderLayer) Declare() {
	l.attention(&l.Attention)
	l.norm(&l.AttentionNorm)
	l.feedForward(&l.FeedForward)
	l.norm(&l.FeedNorm)
}

// Forward is Run without options.
func (l *TransformerEncoderLayer) Forward(x *nd.Array) *nd.Array { return l.Run(x) }

// Run computes the layer for sequences of shape (n, steps, Units). Steps behind a ValidLength are
// not read, but have outputs.
func (l *TransformerEncoderLayer) Run(x *nd.Array, opts ...AttentionOption) *nd.Array {
	if l.FeedNorm == nil {
		l.Declare()
	}
	call := l.Enter(l, x)
	x = l.add(x, l.AttentionNorm, func(x *nd.Array) *nd.Array {
		return l.Attention.Attend(x, x, opts...)
	})
	return call.Leave(l.add(x, l.FeedNorm, l.FeedForward.Forward))
}

// TransformerEncoder is a stack of TransformerEncoderLayer. With NormFirst a last LayerNorm
// normalizes the output.
//
//	encoder := &nn.TransformerEncoder{Depth: 6, TransformerConfig: nn.TransformerConfig{
//		Units: 512, Heads: 8, Dropout: 0.1}}
//	memory := encoder.Run(x, nn.ValidLength(lengths))
type TransformerEncoder struct {
	gluon.Hooks
	TransformerConfig `gluon:"-"`
	Depth             int // number of layers that Declare makes

	Layers []*TransformerEncoderLayer
	Norm   *LayerNorm // nil without NormFirst
}

// Declare makes the layers.
func (e *TransformerEncoder) Declare() {
	for len(e.Layers) < e.Depth {
		layer := &TransformerEncoderLayer{TransformerConfig: e.TransformerConfig}
		e.Layers = append(e.Layers, layer)
	}
	if e.NormFirst {
		e.norm(&e.Norm)
	}
}

// Forward is Run without options.
func (e *TransformerEncoder) Forward(x *nd.Array) *nd.Array { return e.Run(x) }

// Run computes the layers for sequences of shape (n, steps, Units).
func (e *TransformerEncoder) Run(x *nd.Array, opts ...AttentionOption) *nd.Array {
	if len(e.Layers) < e.Depth {
		e.Declare()
	}
	call := e.Enter(e, x)
	for _, l := range e.Layers {
		x = l.Run(x, opts...)
	}
	if e.Norm != nil {
		x = e.Norm.Forward(x)
	}
	return call.Leave(x)
}
