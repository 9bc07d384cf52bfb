package prim

import (
	"math"

	"gomx/op"
	"gomx/op/loop"
)

// The trigonometric and hyperbolic functions.
var (
	Sin     = op.Declare[op.NoParams]("sin")
	Cos     = op.Declare[op.NoParams]("cos")
	Tan     = op.Declare[op.NoParams]("tan")
	Arcsin  = op.Declare[op.NoParams]("arcsin")
	Arccos  = op.Declare[op.NoParams]("arccos")
	Arctan  = op.Declare[op.NoParams]("arctan")
	Sinh    = op.Declare[op.NoParams]("sinh")
	Cosh    = op.Declare[op.NoParams]("cosh")
	Arcsinh = op.Declare[op.NoParams]("arcsinh")
	Arccosh = op.Declare[op.NoParams]("arccosh")
	Arctanh = op.Declare[op.NoParams]("arctanh")
	Degrees = op.Declare[op.NoParams]("degrees")
	Radians = op.Declare[op.NoParams]("radians")
)

func trigonometry() []unary {
	square := func(x op.Entry) op.Entry { return Square.Apply(none, x) }
	rsqrt := func(x op.Entry) op.Entry { return Rsqrt.Apply(none, x) }
	return []unary{
		{Sin, "Sin computes the sine of an angle in radians.", loop.Func1{F: math.Sin},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, Cos.Apply(none, x)) }},
		{Cos, "Cos computes the cosine of an angle in radians.", loop.Func1{F: math.Cos},
			func(x, _, dy op.Entry) op.Entry { return neg(mul(dy, Sin.Apply(none, x))) }},
		{Tan, "Tan computes the tangent of an angle in radians.", loop.Func1{F: math.Tan},
			func(_, y, dy op.Entry) op.Entry { return mul(dy, plus(square(y), 1)) }},
		{Arcsin, "Arcsin computes the inverse sine.", loop.Func1{F: math.Asin},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, rsqrt(from(1, square(x)))) }},
		{Arccos, "Arccos computes the inverse cosine.", loop.Func1{F: math.Acos},
			func(x, _, dy op.Entry) op.Entry { return neg(mul(dy, rsqrt(from(1, square(x))))) }},
		{Arctan, "Arctan computes the inverse tangent.", loop.Func1{F: math.Atan},
			func(x, _, dy op.Entry) op.Entry { return div(dy, plus(square(x), 1)) }},
		{Sinh, "Sinh computes the hyperbolic sine.", loop.Func1{F: math.Sinh},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, Cosh.Apply(none, x)) }},
		{Cosh, "Cosh computes the hyperbolic cosine.", loop.Func1{F: math.Cosh},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, Sinh.Apply(none, x)) }},
		{Arcsinh, "Arcsinh computes the inverse hyperbolic sine.", loop.Func1{F: math.Asinh},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, rsqrt(plus(square(x), 1))) }},
		{Arccosh, "Arccosh computes the inverse hyperbolic cosine.", loop.Func1{F: math.Acosh},
			func(x, _, dy op.Entry) op.Entry { return mul(dy, rsqrt(plus(square(x), -1))) }},
		{Arctanh, "Arctanh computes the inverse hyperbolic tangent.", loop.Func1{F: math.Atanh},
			func(x, _, dy op.Entry) op.Entry { return div(dy, from(1, square(x))) }},
		{Degrees, "Degrees converts from radians to degrees.",
			loop.Func1{F: func(x float64) float64 { return x * (180 / math.Pi) }},
			func(_, _, dy op.Entry) op.Entry { return scale(dy, 180/math.Pi) }},
		{Radians, "Radians converts from degrees to radians.",
			loop.Func1{F: func(x float64) float64 { return x * (math.Pi / 180) }},
			func(_, _, dy op.Entry) op.Entry { return scale(dy, math.Pi/180) }},
	}
}
