package nn

import (
	"gomx/dtype"
	nd "gomx/ndarray"
)

// AttentionOption limits the steps that attention reads.
type AttentionOption func(*attentionMasks)

// attentionMasks are the masks of a sequence that reads itself, and of its reading of a memory.
type attentionMasks struct{ self, memory attentionMask }

// attentionMask says which steps of a memory each step of a sequence may read: the steps that all
// of its parts allow.
type attentionMask struct {
	lengths *nd.Array // valid steps of each memory, of shape (n); nil: all
	mask    *nd.Array // not zero for steps that may be read; nil: all
	causal  bool      // steps behind the own one may not be read
}

// ValidLength gives the number of valid steps of each sequence that is read, an array of shape (n).
// For a decoder these are the sequences that it decodes; see MemoryLength.
func ValidLength(n *nd.Array) AttentionOption {
	return func(m *attentionMasks) { m.self.lengths = n }
}

// Mask gives an array that is not zero where a step (the second last axis) may read another (the
// last axis). It has the shape (steps, steps read), (n, steps, steps read), or (n, heads, steps,
// steps read); extents may be 1.
func Mask(m *nd.Array) AttentionOption {
	return func(a *attentionMasks) { a.self.mask = m }
}

// Causal lets each step read only itself and earlier steps. If the sequence that is read is longer,
// the last steps of both coincide.
func Causal() AttentionOption { return func(m *attentionMasks) { m.self.causal = true } }

// MemoryLength is ValidLength for the memory of a decoder.
func MemoryLength(n *nd.Array) AttentionOption {
	return func(m *attentionMasks) { m.memory.lengths = n }
}

// MemoryMask is Mask for the memory of a decoder.
func MemoryMask(mask *nd.Array) AttentionOption {
	return func(m *attentionMasks) { m.memory.mask = mask }
}

func newAttentionMasks(opts []AttentionOption) (m attentionMasks) {
	for _, o := range opts {
		o(&m)
	}
	return m
}

// newAttentionMask returns the mask for one reading.
func newAttentionMask(opts []AttentionOption) attentionMask { return newAttentionMasks(opts).self }

// option is the option of Attend that stands for the mask.
func (m attentionMask) option() AttentionOption {
	return func(a *attentionMasks) { a.self = m }
}

// array returns ones and zeros that broadcast to (n, heads, steps, steps read), nil for a mask that
// allows everything. Scores have the shape (n·heads, steps, steps read).
func (m attentionMask) array(scores *nd.Array, heads int) *nd.Array {
	var may *nd.Array
	and := func(x *nd.Array) {
		if x = x.AsType(scores.DType()); may != nil {
			x = may.Mul(x)
		}
		may = x
	}
	shape := scores.Shape()
	place := func(axis int, first float64) *nd.Array {
		return nd.ArangeLike(scores, nd.ArangeLikeParams{Axis: nd.Some(axis), Start: first})
	}
	if m.causal {
		own := place(1, float64(shape[2]-shape[1])).Reshape(1, 1, -1, 1)
		and(nd.BroadcastLesserEqual(place(2, 0).Reshape(1, 1, 1, -1), own))
	}
	if m.lengths != nil {
		lengths := m.lengths.AsType(scores.DType()).Reshape(-1, 1, 1, 1)
		and(nd.BroadcastLesser(place(2, 0).Reshape(1, 1, 1, -1), lengths))
	}
	if m.mask != nil {
		and(m.nonzero(scores.DType()))
	}
	return may
}

// nonzero returns ones of a type where the mask is not zero, and zeros, with four axes.
func (m attentionMask) nonzero(t dtype.Type) *nd.Array {
	x := m.mask
	switch x.Rank() {
	case 2:
		x = x.ExpandDims(0).ExpandDims(0)
	case 3:
		x = x.ExpandDims(1)
	case 4:
	default:
		panic(misuse("Mask", "shape %v, want 2, 3 or 4 axes", x.Shape()))
	}
	return nd.NotEqualScalar(x.AsType(t), nd.ScalarParams{})
}

// attention is the operator: queries, of shape (n, steps, heads·size), read keys and values.
func (m attentionMask) attention(q, k, v *nd.Array, heads int) *nd.Array {
	p := nd.ScaledAttentionParams{Heads: heads}
	var with []nd.Input
	if m.mask != nil {
		p.UseMask = true
		with = append(with, nd.With("mask", m.nonzero(q.DType()).AsType(dtype.Bool)))
	}
	if m.lengths != nil {
		p.UseLength = true
		lengths := m.lengths
		if lengths.DType().IsFloat() {
			lengths = lengths.Ceil() // step j is read if j is less than the length
		}
		with = append(with, nd.With("length", lengths.AsType(dtype.Int32)))
	}
	if m.causal {
		p.Causal = true
		if ahead := k.Shape()[1] - q.Shape()[1]; ahead != 0 {
			p.UsePosition = true
			with = append(with, nd.With("position", nd.Full(float64(ahead), nd.Shape{q.Shape()[0]},
				nd.As(dtype.Int32), nd.On(q.Device()), nd.Using(q.Engine()))))
		}
	}
	return nd.Attention(q, k, v, p, with...)
}
