package onnx

import (
	"gomx/dtype"
	sym "gomx/symbol"
)

// contribHeads is an operator of attention of the domain com.microsoft while it is imported. Past keys
// and values come before the keys and values of its inputs.
type contribHeads struct {
	*call
	q                *sym.Symbol // (n, queries, heads·size)
	k, v             *sym.Symbol // (n, heads, keys, size), past ones included; nil: apart
	apartK, apartV   *sym.Symbol // (n, keys, heads·size) without past
	n, queries, keys int
	heads, size      int
	past             int // keys among keys that are past ones
}

// newHeads describes attention of queries, keys and values of shape (n, length, heads·size).
func newHeads(c *call, q, k, v *sym.Symbol) *contribHeads {
	h := &contribHeads{call: c, q: q, apartK: k, apartV: v, heads: c.num("num_heads", 0)}
	shape := c.shapeOf(q)
	if c.err != nil || h.heads < 1 || len(shape) != 3 || shape[2]%h.heads != 0 {
		c.fail("num_heads %d of queries of shape %v", h.heads, shape)
		return h
	}
	h.n, h.queries, h.size = shape[0], shape[1], shape[2]/h.heads
	if k != nil {
		h.keys = c.shapeOf(k)[1]
	}
	return h
}

// byHead gives an array of shape (n, length, heads·size) the shape (n, heads, length, size).
func (h *contribHeads) byHead(s *sym.Symbol, length int) *sym.Symbol {
	return sym.Transpose(h.reshape(s, dtype.Shape{h.n, length, h.heads, h.size}),
		sym.TransposeParams{Axes: []int{0, 2, 1, 3}})
}

// joined gives an array of shape (n, heads, keys, size) the shape (n, keys, heads·size).
func (h *contribHeads) joined(s *sym.Symbol) *sym.Symbol {
	return h.reshape(sym.Transpose(s, sym.TransposeParams{Axes: []int{0, 2, 1, 3}}),
		dtype.Shape{h.n, h.keys, h.heads * h.size})
}

// after joins past keys and values of shape (n, heads, past, size), which may be nil, with the keys
// and values of the inputs.
func (h *contribHeads) after(k, v *sym.Symbol) {
	now := []*sym.Symbol{h.byHead(h.apartK, h.keys), h.byHead(h.apartV, h.keys)}
	if k != nil {
		shape := h.shapeOf(k)
		if h.err != nil || len(shape) != 4 || shape[0] != h.n || shape[1] != h.heads ||
			shape[3] != h.size {
			h.fail("past keys and values of shape %v, want (%d, %d, past, %d)", shape, h.n, h.heads,
				h.size)
			return
		}
		for i, old := range []*sym.Symbol{k, v} {
			now[i] = sym.Concat([]*sym.Symbol{old, now[i]}, sym.ConcatParams{Dim: sym.Some(2)})
		}
		h.past = shape[2]
		h.keys += h.past
	}
	h.k, h.v = now[0], now[1]
}

// packedAttention projects one input to queries, keys and values and attends. Past and present keys
// and values are one array, with an axis of two before all others.
func packedAttention(c *call) []*sym.Symbol {
	x, w := c.in[0].shape, c.in[1].shape
	if len(x) != 3 || len(w) != 2 || w[0] != x[2] || w[1]%3 != 0 {
		return c.fail("data of shape %v and weights of shape %v, want (n, length, size) and (size, "+
			"3 · heads · head size)", x, w)
	}
	for _, n := range c.nums("qkv_hidden_sizes") {
		if n != w[1]/3 {
			return c.fail("qkv_hidden_sizes %v, want the same for queries, keys and values",
				c.nums("qkv_hidden_sizes"))
		}
	}
	for _, name := range []string{"do_rotary", "past_present_share_buffer"} {
		if c.num(name, 0) != 0 {
			return c.fail("%s, which is not imported", name)
		}
	}
	s := c.matMul(c.x(0), x, c.x(1), w)
	if c.has(2) {
		s = sym.BroadcastAdd(s, c.x(2))
	}
	size := w[1] / 3
	part := func(i int) *sym.Symbol { return cut(s, 2, i*size, (i+1)*size) }
	h := newHeads(c, part(0), part(1), part(2))
	if c.err != nil {
		return nil
	}
	present := c.wanted() > 1
	if c.has(4) {
		if c.in[4].rank() != 5 || c.in[4].shape[0] != 2 {
			return c.fail("a past of shape %v, want (2, n, heads, past, size)", c.in[4].shape)
		}
		half := func(i int) *sym.Symbol {
			return c.reshape(cut(c.x(4), 0, i, i+1), c.in[4].shape[1:])
		}
		h.after(half(0), half(1))
	} else if present {
		h.after(nil, nil)
	}
	outs := h.attend(3, 5)
	if present && c.err == nil {
		both := sym.Stack([]*sym.Symbol{h.k, h.v}, sym.StackParams{})
		outs = append(outs, both)
	}
	return outs
}

// multiHead attends with queries, keys and values of shape (n, length, heads · head size), or keys
// and values of shape (n, heads, length, head size). Outputs after the first one are present keys
// and values.
func multiHead(c *call) []*sym.Symbol {
	if !c.has(1) || !c.has(2) || c.in[0].rank() != 3 {
		return c.fail("packed queries, keys or values, which are not imported")
	}
	size := c.in[0].shape[2]
	biased := func(i int) *sym.Symbol {
		if !c.has(3) {
			return c.x(i)
		}
		return sym.BroadcastAdd(c.x(i), cut(c.x(3), 0, i*size, (i+1)*size))
	}
	if c.has(3) && !c.in[3].shape.Equal(dtype.Shape{3 * size}) {
		return c.fail("biases of shape %v, want (%d)", c.in[3].shape, 3*size)
	}
	if c.has(8) || c.has(9) || c.wanted() > 3 {
		return c.fail("shared buffers, beams or products of queries and keys, which are not imported")
	}
	present := c.wanted() > 1
	if c.in[1].rank() == 4 && c.in[2].rank() == 4 {
		h := newHeads(c, biased(0), nil, nil)
		shape := dtype.Shape{h.n, h.heads, c.in[1].shape[2], h.size}
		if !c.in[1].shape.Equal(shape) || !c.in[2].shape.Equal(shape) {
			return c.fail("keys and values of shapes %v and %v, want %v", c.in[1].shape,
				c.in[2].shape, shape)
		}
		h.k, h.v, h.keys = c.x(1), c.x(2), shape[2]
		return h.outputs(present)
	}
	for i := 1; i < 3; i++ {
		if v := c.in[i]; v.rank() != 3 || v.shape[2] != size {
			return c.fail("input %d of shape %v, want (n, length, size) with one size for queries, "+
				"keys and values", i, v.shape)
		}
	}
	h := newHeads(c, biased(0), biased(1), biased(2))
	switch {
	case c.err != nil:
		return nil
	case c.has(6) != c.has(7):
		return c.fail("past keys without past values, or values without keys")
	case c.has(6):
		h.after(c.x(6), c.x(7))
	case present:
		h.after(nil, nil)
	}
	return h.outputs(present)
}

// outputs returns the outputs of multiHead.
func (h *contribHeads) outputs(present bool) []*sym.Symbol {
	outs := h.attend(4, 5)
	if present && h.err == nil {
		outs = append(outs, sym.Identity(h.k), sym.Identity(h.v))
	}
	return outs
}

// attend is attention with a mask of keys and a bias of scores at two inputs.
func (h *contribHeads) attend(mask, bias int) []*sym.Symbol {
	if h.err != nil {
		return nil
	}
	k, v := h.apartK, h.apartV
	if h.k != nil {
		k, v = h.joined(h.k), h.joined(h.v)
	}
	p := sym.ScaledAttentionParams{Heads: h.heads, Causal: h.num("unidirectional", 0) != 0}
	if scale := h.float("scale", 0); scale != 0 {
		p.Scale = sym.Some(scale)
	}
	var add *sym.Symbol
	if h.has(mask) {
		add = h.mask(h.in[mask])
	}
	if h.has(bias) {
		if add == nil {
			add = h.x(bias)
		} else {
			add = sym.BroadcastAdd(add, h.x(bias))
		}
	}
	if h.err != nil {
		return nil
	}
	var opts []sym.Option
	if add != nil {
		p.UseMask = true
		opts = append(opts, sym.With("mask", cast(add, h.fact(h.q).typ)))
	}
	if p.Causal && h.past > 0 {
		p.UsePosition = true
		opts = append(opts, sym.With("position", h.filled(dtype.Shape{h.n}, float64(h.past),
			dtype.Int32)))
	}
	return out(sym.Attention(h.q, k, v, p, opts...))
}

// mask makes numbers to add to scores of a mask: the number of keys of each sample, the ends of the
// keys that are read and then their begins, or 1 for each key that is read, by sample, by sample and
// query, or for all queries up to a greatest length.
func (h *contribHeads) mask(m *value) *sym.Symbol {
	low := h.float("mask_filter_value", -10000)
	s, shape := m.s, dtype.Shape{h.n, 1, 1, h.keys}
	switch {
	case m.rank() == 1 && m.shape[0] == h.n, m.rank() == 1 && m.shape[0] == 2*h.n:
		list := make([]int, h.keys)
		for i := range list {
			list[i] = i
		}
		at := h.indices(list, 1, h.keys)
		ends := h.reshape(cast(s, dtype.Int64), dtype.Shape{m.shape[0] / h.n, h.n, 1})
		end := func(i int) *sym.Symbol {
			return h.reshape(cut(ends, 0, i, i+1), dtype.Shape{h.n, 1})
		}
		s = sym.BroadcastLesser(at, end(0))
		if m.shape[0] > h.n {
			s = sym.BroadcastMul(cast(s, dtype.Float32), cast(sym.BroadcastGreaterEqual(at, end(1)),
				dtype.Float32))
		}
	case m.shape.Equal(dtype.Shape{h.n, h.keys}):
	case m.shape.Equal(dtype.Shape{h.n, h.queries, h.keys}):
		shape = dtype.Shape{h.n, 1, h.queries, h.keys}
	case m.rank() == 4 && m.shape[0] == h.n && m.shape[1] == 1 && m.shape[2] == m.shape[3] &&
		m.shape[3] >= h.keys:
		s = cut(cut(s, 2, h.keys-h.queries, h.keys), 3, 0, h.keys)
		shape = dtype.Shape{h.n, 1, h.queries, h.keys}
	default:
		h.fail("a mask of shape %v, want (n), (2n), (n, keys), (n, queries, keys) or (n, 1, most, "+
			"most)", m.shape)
		return s
	}
	return times(plus(h.reshape(cast(s, dtype.Float32), shape), -1), -low)
}
