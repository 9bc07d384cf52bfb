package export

import (
	"math"

	"gomx/op"
	"gomx/op/prim"
)

// unaryRules are functions of one element.
var unaryRules = rules{
	prim.Abs.Op: signed("Abs"), prim.Sign.Op: signed("Sign"), prim.Negative.Op: signed("Neg"),
	prim.Reciprocal.Op: direct("Reciprocal"), prim.Sqrt.Op: direct("Sqrt"),
	prim.Exp.Op: direct("Exp"), prim.Log.Op: direct("Log"), prim.Sigmoid.Op: direct("Sigmoid"),
	prim.Softsign.Op: direct("Softsign"), prim.Tanh.Op: direct("Tanh"), prim.Erf.Op: direct("Erf"),
	prim.Sin.Op: direct("Sin"), prim.Cos.Op: direct("Cos"), prim.Tan.Op: direct("Tan"),
	prim.Arcsin.Op: direct("Asin"), prim.Arccos.Op: direct("Acos"),
	prim.Arctan.Op: direct("Atan"), prim.Sinh.Op: direct("Sinh"), prim.Cosh.Op: direct("Cosh"),
	prim.Arcsinh.Op: direct("Asinh"), prim.Arccosh.Op: direct("Acosh"),
	prim.Arctanh.Op: direct("Atanh"),
	prim.Relu.Op:    signed("Relu"), prim.Square.Op: square,
	prim.Ceil.Op: rounding("Ceil"), prim.Floor.Op: rounding("Floor"),
	prim.Rsqrt.Op: formula(func(c *call, x value) value {
		return c.unary("Reciprocal", c.unary("Sqrt", x))
	}),
	prim.Cbrt.Op:  formula(cbrt),
	prim.Rcbrt.Op: formula(func(c *call, x value) value { return c.unary("Reciprocal", cbrt(c, x)) }),
	prim.Expm1.Op: formula(expm1), prim.Log1p.Op: formula(log1p),
	prim.Log2.Op:    logarithm(math.Ln2),
	prim.Log10.Op:   logarithm(math.Ln10),
	prim.Degrees.Op: factor(180 / math.Pi), prim.Radians.Op: factor(math.Pi / 180),
	prim.Round.Op: whole(roundHalf),
	prim.Rint.Op:  whole(func(c *call, x value) value { return nearest(c, x, "Greater") }),
	prim.Trunc.Op: whole(trunc), prim.Fix.Op: whole(trunc),
	prim.LogicalNot.Op: func(c *call) []value {
		return one(c.cast(c.not(c.truth(c.x(0))), c.x(0).typ))
	},
}

// unaryReasons are functions that ONNX lacks.
var unaryReasons = map[*op.Op]string{
	prim.Erfinv.Op: "ONNX has no inverse of the error function",
	prim.Gamma.Op:  "ONNX has no gamma function", prim.Gammaln.Op: "ONNX has no gamma function",
}

// direct is an operator that ONNX has for floating-point types.
func direct(kind string) rule {
	return formula(func(c *call, x value) value { return c.unary(kind, x) })
}

// formula is a rule for floating-point types; integers go through float32.
func formula(f func(c *call, x value) value) rule {
	return func(c *call) []value {
		return one(c.floating(c.x(0), func(x value) value { return f(c, x) }))
	}
}

// signed is an operator that ONNX has for integers too.
func signed(kind string) rule {
	return func(c *call) []value {
		x := c.x(0)
		return one(c.cast(c.unary(kind, c.cast(x, wide(x.typ))), x.typ))
	}
}

// whole is a rule for floating-point types that leaves integers as they are.
func whole(f func(c *call, x value) value) rule {
	return func(c *call) []value {
		if x := c.x(0); x.typ.IsFloat() {
			return one(f(c, x))
		}
		return identity(c)
	}
}

// rounding is a whole rule of one ONNX operator.
func rounding(kind string) rule {
	return whole(func(c *call, x value) value { return c.unary(kind, x) })
}

func identity(c *call) []value { return one(c.x(0)) }

func square(c *call) []value {
	return one(c.arithmetic(c.x(0), c.x(0), c.times))
}

// cbrt is the root of the size with the sign.
func cbrt(c *call, x value) value {
	root := c.binary("Pow", c.unary("Abs", x), c.like(x, 1.0/3))
	return c.times(c.unary("Sign", x), root)
}

// expm1 is 2t/(1-t) with t = tanh(x/2) near zero, where exp(x)-1 loses its digits.
func expm1(c *call, x value) value {
	t := c.unary("Tanh", c.scaled(x, 0.5))
	near := c.over(c.scaled(t, 2), c.minus(c.like(x, 1), t))
	far := c.minus(c.unary("Exp", x), c.like(x, 1))
	return c.where(c.test("Less", c.unary("Abs", x), c.like(x, 0.5)), near, far)
}

// log1p is log(u)·x/(u-1) with u = 1+x, where the error of u cancels; it is x where u is one.
func log1p(c *call, x value) value {
	one := c.like(x, 1)
	u := c.plus(x, one)
	same := c.test("Equal", u, one)
	under := c.where(same, one, c.minus(u, one))
	y := c.times(c.unary("Log", u), c.over(x, under))
	endless := c.test("Equal", x, c.like(x, math.Inf(1)))
	return c.where(same, x, c.where(endless, x, y))
}

func logarithm(base float64) rule {
	return formula(func(c *call, x value) value { return c.scaled(c.unary("Log", x), 1/base) })
}

func factor(k float64) rule {
	return formula(func(c *call, x value) value { return c.scaled(x, k) })
}

// nearest rounds down, and up where the rest compares so with one half.
func nearest(c *call, x value, kind string) value {
	low := c.unary("Floor", x)
	up := c.test(kind, c.minus(x, low), c.like(x, 0.5))
	return c.plus(low, c.cast(up, x.typ))
}

func trunc(c *call, x value) value {
	return c.times(c.unary("Sign", x), c.unary("Floor", c.unary("Abs", x)))
}
