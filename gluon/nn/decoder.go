package nn

import (
	"gomx/gluon"
	nd "gomx/ndarray"
)

// TransformerDecoderLayer is causal self-attention, attention to a memory, and FeedForward; the
// input of each is added to its result, and LayerNorm normalizes the sum, or with NormFirst the
// input.
type TransformerDecoderLayer struct {
	gluon.Hooks
	TransformerConfig `gluon:"-"`

	Attention       *MultiHeadAttention
	AttentionNorm   *LayerNorm
	MemoryAttention *MultiHeadAttention
	MemoryNorm      *LayerNorm
	FeedForward     *FeedForward
	FeedNorm        *LayerNorm
}

// Declare makes the parts.
func (l *TransformerDecoderLayer) Declare() {
	l.attention(&l.Attention)
	l.norm(&l.AttentionNorm)
	l.attention(&l.MemoryAttention)
	l.norm(&l.MemoryNorm)
	l.feedForward(&l.FeedForward)
	l.norm(&l.FeedNorm)
}

// Run computes the layer for sequences of shape (n, steps, Units) that read memories of shape
// (n, memory steps, size). MemoryLength and MemoryMask limit the steps of the memory that are read,
// ValidLength and Mask the steps of x.
func (l *TransformerDecoderLayer) Run(x, memory *nd.Array, opts ...AttentionOption) *nd.Array {
	if l.FeedNorm == nil {
		l.Declare()
	}
	call, masks := l.Enter(l, x, memory), newAttentionMasks(opts)
	masks.self.causal = true
	x = l.add(x, l.AttentionNorm, func(x *nd.Array) *nd.Array {
		return l.Attention.Attend(x, x, masks.self.option())
	})
	x = l.add(x, l.MemoryNorm, func(x *nd.Array) *nd.Array {
		return l.MemoryAttention.Attend(x, memory, masks.memory.option())
	})
	return call.Leave(l.add(x, l.FeedNorm, l.FeedForward.Forward))
}

// TransformerDecoder is a stack of TransformerDecoderLayer. With NormFirst a last LayerNorm
// normalizes the output.
type TransformerDecoder struct {
	gluon.Hooks
	TransformerConfig `gluon:"-"`
	Depth             int // number of layers that Declare makes

	Layers []*TransformerDecoderLayer
	Norm   *LayerNorm // nil without NormFirst
}

// Declare makes the layers.
func (d *TransformerDecoder) Declare() {
	for len(d.Layers) < d.Depth {
		layer := &TransformerDecoderLayer{TransformerConfig: d.TransformerConfig}
		d.Layers = append(d.Layers, layer)
	}
	if d.NormFirst {
		d.norm(&d.Norm)
	}
}

// Run computes the layers; see TransformerDecoderLayer.Run.
func (d *TransformerDecoder) Run(x, memory *nd.Array, opts ...AttentionOption) *nd.Array {
	if len(d.Layers) < d.Depth {
		d.Declare()
	}
	call := d.Enter(d, x, memory)
	for _, l := range d.Layers {
		x = l.Run(x, memory, opts...)
	}
	if d.Norm != nil {
		x = d.Norm.Forward(x)
	}
	return call.Leave(x)
}
