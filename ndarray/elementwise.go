package ndarray

import "gomx/op/prim"

// Arccos returns, element by element, the arccosine.
func (a *Array) Arccos() *Array { return unary(prim.Arccos, a) }

// Arccosh returns, element by element, the inverse hyperbolic cosine.
func (a *Array) Arccosh() *Array { return unary(prim.Arccosh, a) }

// Arcsin returns, element by element, the arcsine.
func (a *Array) Arcsin() *Array { return unary(prim.Arcsin, a) }

// Arcsinh returns, element by element, the inverse hyperbolic sine.
func (a *Array) Arcsinh() *Array { return unary(prim.Arcsinh, a) }

// Arctan returns, element by element, the arctangent.
func (a *Array) Arctan() *Array { return unary(prim.Arctan, a) }

// Arctanh returns, element by element, the inverse hyperbolic tangent.
func (a *Array) Arctanh() *Array { return unary(prim.Arctanh, a) }

// Cbrt returns, element by element, the cube root.
func (a *Array) Cbrt() *Array { return unary(prim.Cbrt, a) }

// Ceil returns, element by element, the least integer not below the element.
func (a *Array) Ceil() *Array { return unary(prim.Ceil, a) }

// Cos returns, element by element, the cosine.
func (a *Array) Cos() *Array { return unary(prim.Cos, a) }

// Cosh returns, element by element, the hyperbolic cosine.
func (a *Array) Cosh() *Array { return unary(prim.Cosh, a) }

// Degrees converts radians to degrees, element by element.
func (a *Array) Degrees() *Array { return unary(prim.Degrees, a) }

// Expm1 returns, element by element, the exponential minus one.
func (a *Array) Expm1() *Array { return unary(prim.Expm1, a) }

// Fix returns, element by element, the nearest integer towards zero.
func (a *Array) Fix() *Array { return unary(prim.Fix, a) }

// Floor returns, element by element, the greatest integer not above the element.
func (a *Array) Floor() *Array { return unary(prim.Floor, a) }

// Log10 returns, element by element, the logarithm to base 10.
func (a *Array) Log10() *Array { return unary(prim.Log10, a) }

// Log1p returns, element by element, the logarithm of one plus the element.
func (a *Array) Log1p() *Array { return unary(prim.Log1p, a) }

// Log2 returns, element by element, the logarithm to base 2.
func (a *Array) Log2() *Array { return unary(prim.Log2, a) }

// Radians converts degrees to radians, element by element.
func (a *Array) Radians() *Array { return unary(prim.Radians, a) }

// Rcbrt returns, element by element, the reciprocal of the cube root.
func (a *Array) Rcbrt() *Array { return unary(prim.Rcbrt, a) }

// Reciprocal returns, element by element, the reciprocal.
func (a *Array) Reciprocal() *Array { return unary(prim.Reciprocal, a) }

// Rint returns, element by element, the nearest integer; halves are rounded down.
func (a *Array) Rint() *Array { return unary(prim.Rint, a) }

// Round returns, element by element, the nearest integer; halves are rounded away from zero.
func (a *Array) Round() *Array { return unary(prim.Round, a) }

// Rsqrt returns, element by element, the reciprocal of the square root.
func (a *Array) Rsqrt() *Array { return unary(prim.Rsqrt, a) }

// Sin returns, element by element, the sine.
func (a *Array) Sin() *Array { return unary(prim.Sin, a) }

// Sinh returns, element by element, the hyperbolic sine.
func (a *Array) Sinh() *Array { return unary(prim.Sinh, a) }

// Tan returns, element by element, the tangent.
func (a *Array) Tan() *Array { return unary(prim.Tan, a) }

// Trunc returns, element by element, the nearest integer towards zero.
func (a *Array) Trunc() *Array { return unary(prim.Trunc, a) }
