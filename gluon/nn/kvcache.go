package nn

import (
	"gomx/dtype"
	nd "gomx/ndarray"
)

// KVCache holds the keys and values of the steps that sequences have read, with room for more. A
// step of decoding writes its own and reads all before it, so that no step is computed twice and
// nothing is copied.
type KVCache struct {
	Keys, Values *nd.Array // of shape (n, capacity, width)
}

// NewKVCache makes an empty cache for n sequences of at most capacity steps.
func NewKVCache(n, capacity, width int, opts ...nd.Option) *KVCache {
	shape := nd.Shape{n, capacity, width}
	return &KVCache{nd.Zeros(shape, opts...), nd.Zeros(shape, opts...)}
}

// Attend writes the keys and values of the next steps, of shape (n, steps, width), and lets the
// queries of these steps, of the same shape, read them and all earlier ones. Position, of shape (n),
// is the number of steps that each sequence has before: sequences may differ, and what lies behind
// the steps of one is never read. It fails where the steps do not fit.
//
// Nothing is learned through a cache: it belongs outside of tapes.
func (c *KVCache) Attend(q, k, v, position *nd.Array, heads int) *nd.Array {
	if t := position.DType(); t.IsFloat() {
		position = position.AsType(dtype.Int32)
	}
	keys, values := nd.CacheWrite(c.Keys, k, position), nd.CacheWrite(c.Values, v, position)
	return nd.Attention(q, keys, values, nd.ScaledAttentionParams{Heads: heads, Causal: true,
		UsePosition: true}, nd.With("position", position))
}

// Close frees the memory.
func (c *KVCache) Close() {
	c.Keys.Close()
	c.Values.Close()
}

// Decode is causal self-attention of sequences that go on: x, of shape (n, steps, size), are the
// steps behind the position[b] steps of each sequence whose keys and values are in the cache, which
// gets those of x. The width of the cache is Units.
func (m *MultiHeadAttention) Decode(x, position *nd.Array, c *KVCache) *nd.Array {
	if m.Out == nil {
		m.Declare()
	}
	call := m.Enter(m, x, position)
	y := c.Attend(m.Query.Forward(x), m.Key.Forward(x), m.Value.Forward(x), position,
		max(1, m.Heads))
	return call.Leave(m.Out.Forward(y))
}
