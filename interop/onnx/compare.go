package onnx

import (
	"math"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	sym "gomx/symbol"
)

// compareRows are comparisons, logic and choices.
var compareRows = map[string]row{
	"Equal": truthOf(sym.BroadcastEqual), "Greater": truthOf(sym.BroadcastGreater),
	"GreaterOrEqual": truthOf(sym.BroadcastGreaterEqual), "Less": truthOf(sym.BroadcastLesser),
	"LessOrEqual": truthOf(sym.BroadcastLesserEqual), "And": truthOf(sym.BroadcastLogicalAnd),
	"Or": truthOf(sym.BroadcastLogicalOr), "Xor": truthOf(sym.BroadcastLogicalXor),
	"Not": activation(func(_ *call, x *sym.Symbol) *sym.Symbol { return truthy(sym.LogicalNot(x)) }),
	"IsNaN": activation(func(_ *call, x *sym.Symbol) *sym.Symbol {
		return truthy(sym.NotEqual(x, x))
	}),
	"IsInf": activation(isInf),
	"Where": {3, where},
	"Cast":  {1, castTo},
	"CastLike": {2, func(c *call) []*sym.Symbol {
		return convert(c, c.x(0), c.in[1].format, c.in[1].typ)
	}},
}

func truthy(s *sym.Symbol) *sym.Symbol { return cast(s, dtype.Bool) }

// truthOf makes a row of a function of two arrays with boolean results.
func truthOf(f func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol) row {
	return row{2, func(c *call) []*sym.Symbol {
		c.elementwise()
		return out(truthy(f(c.x(0), c.x(1))))
	}}
}

func isInf(c *call, x *sym.Symbol) *sym.Symbol {
	equal := func(v float64) *sym.Symbol {
		return truthy(sym.EqualScalar(x, sym.ScalarParams{Scalar: v}))
	}
	pos, neg := c.num("detect_positive", 1) != 0, c.num("detect_negative", 1) != 0
	switch {
	case pos && neg:
		return sym.BroadcastLogicalOr(equal(math.Inf(1)), equal(math.Inf(-1)))
	case pos:
		return equal(math.Inf(1))
	case neg:
		return equal(math.Inf(-1))
	}
	return truthy(sym.ZerosLike(x))
}

// where brings its three inputs to one shape.
func where(c *call) []*sym.Symbol {
	c.elementwise()
	shape := c.common(c.in[0].shape, c.in[1].shape, c.in[2].shape)
	if c.err != nil {
		return nil
	}
	choice := func(i int) *sym.Symbol {
		if k, ok := c.in[i].number(); ok && shape.Size() > 0 {
			return sym.Full(sym.FullParams{Shape: file.Stored(shape), Value: k,
				DType: c.in[i].typ})
		}
		return c.expand(c.x(i), shape)
	}
	return out(sym.Where(c.expand(c.x(0), shape), choice(1), choice(2)))
}

// common returns the shape to which shapes broadcast.
func (c *call) common(shapes ...dtype.Shape) dtype.Shape {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	all := make(dtype.Shape, rank)
	for i := range all {
		all[i] = 1
	}
	for _, s := range shapes {
		lead := rank - len(s)
		for i, d := range s {
			switch {
			case all[lead+i] == 1:
				all[lead+i] = d
			case d != 1 && d != all[lead+i]:
				c.fail("shapes %v do not broadcast", shapes)
			}
		}
	}
	return all
}

// expand broadcasts to a shape of at least as many axes.
func (c *call) expand(s *sym.Symbol, shape dtype.Shape) *sym.Symbol {
	have, want := c.shapeOf(s), file.Stored(shape)
	if c.err != nil || have.Equal(want) {
		return s
	}
	if want.Size() == 0 {
		return c.empty(s, want)
	}
	return sym.BroadcastTo(s, sym.BroadcastToParams{Shape: want})
}

// castTo converts to the element type of the attribute.
func castTo(c *call) []*sym.Symbol {
	code := int32(c.num("to", 0))
	t, err := file.ElementType(code)
	if err != nil {
		return c.fail("attribute \"to\" is %w", err)
	}
	return convert(c, c.x(0), file.FormatOf(code), t)
}
