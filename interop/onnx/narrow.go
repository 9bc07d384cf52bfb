package onnx

import (
	"math"

	"gomx/dtype"
	"gomx/interop/onnx/internal/file"
	sym "gomx/symbol"
)

// narrowed rounds numbers to a format that gomx holds in a wider type. Halves become even. Numbers
// that exceed the range become its ends; floating-point formats do so if they saturate.
func narrowed(s *sym.Symbol, f *file.Format, saturate bool) *sym.Symbol {
	x := cast(s, dtype.Float64)
	if f.Fraction == 0 {
		return cast(atMost(atLeast(halfEven(x), f.Low), f.High), f.Stored)
	}
	// The distance of neighbours is a power of two. A logarithm that is rounded up at a power of
	// two does no harm, because the number is rounded to that power.
	size := sym.Abs(x)
	exponent := sym.Floor(sym.Log2(atLeast(size, math.Ldexp(1, f.Least))))
	unit := sym.RPowerScalar(plus(exponent, -float64(f.Fraction)), sym.ScalarParams{Scalar: 2})
	y := sym.BroadcastMul(halfEven(sym.BroadcastDiv(size, unit)), unit)
	beyond := f.High
	if !saturate {
		beyond = f.Beyond
	}
	large := sym.GreaterScalar(y, sym.ScalarParams{Scalar: f.High})
	infinite := sym.EqualScalar(size, sym.ScalarParams{Scalar: math.Inf(1)})
	y = sym.Where(sym.BroadcastMaximum(large, infinite), plus(times(sym.ZerosLike(y), 0), beyond), y)
	negative := sym.LesserScalar(x, sym.ScalarParams{})
	return cast(sym.Where(negative, sym.Negative(y), y), f.Stored)
}

// convert makes the output of a node that converts to an element type, of ONNX's code if it is a
// format, or to a type of gomx.
func convert(c *call, s *sym.Symbol, f *file.Format, t dtype.Type) []*sym.Symbol {
	c.scalar = c.in[0].rank() == 0
	if f == nil {
		return out(cast(s, t))
	}
	c.format = f
	return out(narrowed(s, f, c.num("saturate", 1) != 0))
}
