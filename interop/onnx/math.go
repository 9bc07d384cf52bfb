package onnx

import (
	"gomx/dtype"
	sym "gomx/symbol"
)

// mathRows are functions of elements and of two arrays.
var mathRows = map[string]row{
	"Abs": unary(sym.Abs), "Acos": unary(sym.Arccos), "Acosh": unary(sym.Arccosh),
	"Asin": unary(sym.Arcsin), "Asinh": unary(sym.Arcsinh), "Atan": unary(sym.Arctan),
	"Atanh": unary(sym.Arctanh), "Ceil": unary(sym.Ceil), "Cos": unary(sym.Cos),
	"Cosh": unary(sym.Cosh), "Erf": unary(sym.Erf), "Exp": unary(sym.Exp),
	"Floor": unary(sym.Floor), "Log": unary(sym.Log), "Neg": unary(sym.Negative),
	"Reciprocal": unary(sym.Reciprocal), "Sign": unary(sym.Sign), "Sin": unary(sym.Sin),
	"Sinh": unary(sym.Sinh), "Sqrt": unary(sym.Sqrt), "Tan": unary(sym.Tan),
	"Tanh": unary(sym.Tanh), "Identity": unary(sym.Identity),
	"Round": activation(func(_ *call, x *sym.Symbol) *sym.Symbol { return halfEven(x) }),
	"Add":   arithmetic(sym.BroadcastAdd, sym.PlusScalar, sym.PlusScalar),
	"Sub":   arithmetic(sym.BroadcastSub, sym.MinusScalar, sym.RMinusScalar),
	"Mul":   arithmetic(sym.BroadcastMul, sym.MulScalar, sym.MulScalar),
	"Div":   arithmetic(sym.BroadcastDiv, sym.DivScalar, sym.RDivScalar),
	"Pow":   {2, pow}, "Mod": {2, mod}, "BitShift": {2, bitShift},
	"Max": variadic(sym.BroadcastMaximum), "Min": variadic(sym.BroadcastMinimum),
	"Sum": variadic(sym.BroadcastAdd), "Mean": {1, mean},
	"BitwiseAnd": pairwise(sym.BitwiseAnd), "BitwiseOr": pairwise(sym.BitwiseOr),
	"BitwiseXor": pairwise(sym.BitwiseXor), "BitwiseNot": unary(sym.BitwiseNot),
}

// unary makes a row of a function of elements.
func unary(f func(x *sym.Symbol, opts ...sym.Option) *sym.Symbol) row {
	return row{1, func(c *call) []*sym.Symbol {
		c.elementwise()
		return out(f(c.x(0)))
	}}
}

// pairwise makes a row of a function of two arrays that broadcast.
func pairwise(f func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol) row {
	return row{2, func(c *call) []*sym.Symbol {
		c.elementwise()
		return out(f(c.x(0), secondOperand(c)))
	}}
}

// byNumber is an operator of an array and a number.
type byNumber = func(x *sym.Symbol, p sym.ScalarParams, opts ...sym.Option) *sym.Symbol

// arithmetic is pairwise for numbers: f has the constant number on the right, r on the left. Such
// numbers are part of the operator, but for integers.
func arithmetic(pair func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol, f, r byNumber) row {
	general := pairwise(pair)
	return row{2, func(c *call) []*sym.Symbol {
		for i, by := range []byNumber{r, f} {
			v, x := c.in[i], c.in[1-i]
			if k, ok := v.number(); ok && x.fixed == nil && v.rank() <= x.rank() {
				c.elementwise()
				return out(by(x.s, sym.ScalarParams{Scalar: k}))
			}
		}
		return general.make(c)
	}}
}

// secondOperand is the second input. Before opset 7 its first axis may be that of the first input
// which the attribute axis names; axes of extent one follow.
func secondOperand(c *call) *sym.Symbol {
	if c.version >= fullOpset || c.attr["axis"] == nil || !c.has(1) {
		return c.x(1)
	}
	a, shape := c.axis(c.num("axis", 0), c.in[0].rank()), c.in[1].shape.Clone()
	for len(shape) < c.in[0].rank()-a {
		shape = append(shape, 1)
	}
	return c.reshape(c.x(1), shape)
}

// variadic makes a row that joins any number of arrays by a function of two.
func variadic(f func(a, b *sym.Symbol, opts ...sym.Option) *sym.Symbol) row {
	return row{1, func(c *call) []*sym.Symbol {
		c.elementwise()
		s := c.x(0)
		for i := 1; i < len(c.in); i++ {
			s = f(s, c.x(i))
		}
		return out(s)
	}}
}

// elementwise makes the outputs scalars if all inputs are.
func (c *call) elementwise() {
	for _, v := range c.in {
		if v != nil && v.rank() > 0 {
			return
		}
	}
	c.scalar = true
}

// plus, times, power and other helpers apply a number to every element.
func plus(s *sym.Symbol, v float64) *sym.Symbol {
	return sym.PlusScalar(s, sym.ScalarParams{Scalar: v})
}

func times(s *sym.Symbol, v float64) *sym.Symbol {
	return sym.MulScalar(s, sym.ScalarParams{Scalar: v})
}

func power(s *sym.Symbol, v float64) *sym.Symbol {
	return sym.PowerScalar(s, sym.ScalarParams{Scalar: v})
}

func atLeast(s *sym.Symbol, v float64) *sym.Symbol {
	return sym.MaximumScalar(s, sym.ScalarParams{Scalar: v})
}

func atMost(s *sym.Symbol, v float64) *sym.Symbol {
	return sym.MinimumScalar(s, sym.ScalarParams{Scalar: v})
}

// cast converts to an element type.
func cast(s *sym.Symbol, t dtype.Type) *sym.Symbol {
	return sym.Cast(s, sym.CastParams{DType: t})
}

// pow computes in the element type of the base.
func pow(c *call) []*sym.Symbol {
	c.elementwise()
	base := c.in[0]
	if k, ok := c.in[1].number(); ok && base.fixed == nil && base.typ.IsFloat() &&
		c.in[1].rank() <= base.rank() {
		if k == 2 {
			return out(sym.Square(base.s))
		}
		return out(power(base.s, k))
	}
	x, y := c.x(0), c.x(1)
	t, e := base.typ, c.in[1].typ
	if t == e {
		return out(sym.BroadcastPower(x, y))
	}
	wide := dtype.Float64
	return out(cast(sym.BroadcastPower(cast(x, wide), cast(y, wide)), t))
}

// mod has the sign of the divisor, or of the dividend with fmod.
func mod(c *call) []*sym.Symbol {
	c.elementwise()
	x, y := c.x(0), c.x(1)
	if c.num("fmod", 0) == 0 {
		return out(sym.BroadcastMod(x, y))
	}
	return out(sym.BroadcastMul(sym.Sign(x), sym.BroadcastMod(sym.Abs(x), sym.Abs(y))))
}

// bitShift multiplies or divides by powers of two.
func bitShift(c *call) []*sym.Symbol {
	c.elementwise()
	t := c.in[0].typ
	factor := cast(sym.RPowerScalar(cast(c.x(1), dtype.Float64), sym.ScalarParams{Scalar: 2}), t)
	if c.text("direction", "") == "LEFT" {
		return out(sym.BroadcastMul(c.x(0), factor))
	}
	return out(sym.BroadcastDiv(c.x(0), factor))
}

// mean is the sum of all inputs, divided by their number.
func mean(c *call) []*sym.Symbol {
	c.elementwise()
	s := c.x(0)
	for i := 1; i < len(c.in); i++ {
		s = sym.BroadcastAdd(s, c.x(i))
	}
	return out(times(s, 1/float64(len(c.in))))
}
