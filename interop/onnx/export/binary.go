package export

import (
	"gomx/dtype"
	"gomx/op"
	"gomx/op/prim"
)

// function computes one of the functions of two operands, which have one type.
type function func(c *call, a, b value) value

// functions are the functions of two operands: of two arrays of one shape, of two that broadcast,
// and of an array and a number. Unused forms are zero.
var functions = []struct {
	elem, bcast      op.Handle[op.NoParams]
	scalar, reversed op.Handle[prim.ScalarParams] // x f s, and s f x
	f                function
}{
	{prim.ElemwiseAdd, prim.BroadcastAdd, prim.PlusScalar, none, simple("Add")},
	{prim.ElemwiseSub, prim.BroadcastSub, prim.MinusScalar, prim.RMinusScalar, simple("Sub")},
	{prim.ElemwiseMul, prim.BroadcastMul, prim.MulScalar, none, simple("Mul")},
	{prim.ElemwiseDiv, prim.BroadcastDiv, prim.DivScalar, prim.RDivScalar, divided},
	{prim.Mod, prim.BroadcastMod, prim.ModScalar, prim.RModScalar, modulo},
	{prim.Power, prim.BroadcastPower, prim.PowerScalar, prim.RPowerScalar, power},
	{prim.Hypot, prim.BroadcastHypot, prim.HypotScalar, none, hypot},
	{prim.Maximum, prim.BroadcastMaximum, prim.MaximumScalar, none, simple("Max")},
	{prim.Minimum, prim.BroadcastMinimum, prim.MinimumScalar, none, simple("Min")},
	{prim.Equal, prim.BroadcastEqual, prim.EqualScalar, none, comparison("Equal")},
	{prim.NotEqual, prim.BroadcastNotEqual, prim.NotEqualScalar, none,
		func(c *call, a, b value) value {
			t := wide(a.typ)
			return c.cast(c.not(c.test("Equal", c.cast(a, t), c.cast(b, t))), a.typ)
		}},
	{prim.Greater, prim.BroadcastGreater, prim.GreaterScalar, none, comparison("Greater")},
	{prim.GreaterEqual, prim.BroadcastGreaterEqual, prim.GreaterEqualScalar, none,
		comparison("GreaterOrEqual")},
	{prim.Lesser, prim.BroadcastLesser, prim.LesserScalar, none, comparison("Less")},
	{prim.LesserEqual, prim.BroadcastLesserEqual, prim.LesserEqualScalar, none,
		comparison("LessOrEqual")},
	{prim.LogicalAnd, prim.BroadcastLogicalAnd, prim.LogicalAndScalar, none, logical("And")},
	{prim.LogicalOr, prim.BroadcastLogicalOr, prim.LogicalOrScalar, none, logical("Or")},
	{prim.LogicalXor, prim.BroadcastLogicalXor, prim.LogicalXorScalar, none, logical("Xor")},
}

var none op.Handle[prim.ScalarParams]

// binaryRules are functions of two arrays.
var binaryRules = func() rules {
	list := rules{prim.AddN.Op: addN, prim.GradAdd.Op: pair(simple("Add"))}
	for _, f := range functions {
		list[f.elem.Op], list[f.bcast.Op] = pair(f.f), pair(f.f)
	}
	return list
}()

// scalarRules are functions of an array and a number.
var scalarRules = func() rules {
	list := rules{}
	for _, f := range functions {
		list[f.scalar.Op] = withNumber(f.f, false)
		if f.reversed != none {
			list[f.reversed.Op] = withNumber(f.f, true)
		}
	}
	return list
}()

func pair(f function) rule {
	return func(c *call) []value { return one(f(c, c.x(0), c.x(1))) }
}

// withNumber computes in the type of the output: the type of the array, or a wider one for integers
// with a fraction.
func withNumber(f function, reversed bool) rule {
	return on(func(c *call, p prim.ScalarParams) []value {
		t := c.out(0).typ
		x, s := c.cast(c.x(0), t), c.scalar(t, p.Scalar)
		if reversed {
			x, s = s, x
		}
		return one(f(c, x, s))
	})
}

func addN(c *call) []value {
	list := c.all()
	sum := list[0]
	for _, x := range list[1:] {
		sum = c.arithmetic(sum, x, c.plus)
	}
	return one(sum)
}

// simple is an operator that ONNX has.
func simple(kind string) function {
	return func(c *call, a, b value) value {
		return c.arithmetic(a, b, func(a, b value) value { return c.binary(kind, a, b) })
	}
}

// divided is the quotient; integers are cut off, and zero where b is zero.
func divided(c *call, a, b value) value {
	if a.typ.IsFloat() {
		return c.over(a, b)
	}
	return c.arithmetic(a, b, func(a, b value) value {
		zero := c.test("Equal", b, c.like(b, 0))
		return c.where(zero, c.like(a, 0), c.over(a, c.where(zero, c.like(b, 1), b)))
	})
}

// modulo has the sign of b, and is zero where b is zero. ONNX's form for floating-point types has
// the sign of a.
func modulo(c *call, a, b value) value {
	return c.arithmetic(a, b, func(a, b value) value {
		nothing := c.like(a, 0)
		zero := c.test("Equal", b, nothing)
		safe := c.where(zero, c.like(b, 1), b)
		if !a.typ.IsFloat() {
			return c.where(zero, nothing, c.binary("Mod", a, safe, num("fmod", 0)))
		}
		r := c.binary("Mod", a, safe, num("fmod", 1))
		differ := c.test("Less", c.times(c.unary("Sign", r), c.unary("Sign", safe)), nothing)
		return c.where(zero, nothing, c.where(differ, c.plus(r, safe), r))
	})
}

// power goes through float32 for integers, whose powers may be fractions.
func power(c *call, a, b value) value {
	if a.typ.IsFloat() {
		return c.binary("Pow", a, b)
	}
	t := a.typ
	return c.cast(c.binary("Pow", c.cast(a, dtype.Float64), c.cast(b, dtype.Float64)), t)
}

func hypot(c *call, a, b value) value {
	t := a.typ
	if !t.IsFloat() {
		a, b = c.cast(a, dtype.Float32), c.cast(b, dtype.Float32)
	}
	return c.cast(c.unary("Sqrt", c.plus(c.times(a, a), c.times(b, b))), t)
}

// comparison is one or zero in the type of the operands.
func comparison(kind string) function {
	return func(c *call, a, b value) value {
		t := wide(a.typ)
		return c.cast(c.test(kind, c.cast(a, t), c.cast(b, t)), a.typ)
	}
}

// logical is one or zero in the type of the operands.
func logical(kind string) function {
	return func(c *call, a, b value) value {
		return c.cast(c.test(kind, c.truth(a), c.truth(b)), a.typ)
	}
}
