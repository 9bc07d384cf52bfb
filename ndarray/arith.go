package ndarray

import (
	"math"
	"sync/atomic"

	"gomx/op"
	"gomx/op/prim"
)

// broadcast applies elem, the operator for equal shapes, where the shapes are equal, because it is
// faster, and spread, the broadcasting operator, otherwise.
func broadcast(elem, spread op.Handle[op.NoParams], a, b *Array) *Array {
	// The operator's check of its inputs names the argument that is nil.
	if a == nil || b == nil || a.shape.Equal(b.shape) {
		return apply1(elem.Op, op.NoParams{}, a, b)
	}
	return apply1(spread.Op, op.NoParams{}, a, b)
}

// withScalar applies an operator of an array and a number.
func withScalar(h op.Handle[prim.ScalarParams], a *Array, v float64) *Array {
	return apply1(h.Op, scalarParams(v), a)
}

// Add returns a + b, element by element. All functions of two arrays broadcast as NumPy does: axes
// of extent one and missing leading axes repeat.
func (a *Array) Add(b *Array) *Array { return broadcast(prim.ElemwiseAdd, prim.BroadcastAdd, a, b) }

// Sub returns a - b.
func (a *Array) Sub(b *Array) *Array { return broadcast(prim.ElemwiseSub, prim.BroadcastSub, a, b) }

// Mul returns a · b, element by element; see Dot for the matrix product.
func (a *Array) Mul(b *Array) *Array { return broadcast(prim.ElemwiseMul, prim.BroadcastMul, a, b) }

// Div returns a / b.
func (a *Array) Div(b *Array) *Array { return broadcast(prim.ElemwiseDiv, prim.BroadcastDiv, a, b) }

// Pow returns a to the power b.
func (a *Array) Pow(b *Array) *Array { return broadcast(prim.Power, prim.BroadcastPower, a, b) }

// Maximum returns the larger of a and b.
func (a *Array) Maximum(b *Array) *Array {
	return broadcast(prim.Maximum, prim.BroadcastMaximum, a, b)
}

// Minimum returns the smaller of a and b.
func (a *Array) Minimum(b *Array) *Array {
	return broadcast(prim.Minimum, prim.BroadcastMinimum, a, b)
}

// Eq returns 1 where a = b and 0 elsewhere, in the element type of a.
func (a *Array) Eq(b *Array) *Array { return broadcast(prim.Equal, prim.BroadcastEqual, a, b) }

// Ne returns 1 where a ≠ b and 0 elsewhere.
func (a *Array) Ne(b *Array) *Array {
	return broadcast(prim.NotEqual, prim.BroadcastNotEqual, a, b)
}

// Gt returns 1 where a > b and 0 elsewhere.
func (a *Array) Gt(b *Array) *Array { return broadcast(prim.Greater, prim.BroadcastGreater, a, b) }

// Ge returns 1 where a ≥ b and 0 elsewhere.
func (a *Array) Ge(b *Array) *Array {
	return broadcast(prim.GreaterEqual, prim.BroadcastGreaterEqual, a, b)
}

// Lt returns 1 where a < b and 0 elsewhere.
func (a *Array) Lt(b *Array) *Array { return broadcast(prim.Lesser, prim.BroadcastLesser, a, b) }

// Le returns 1 where a ≤ b and 0 elsewhere.
func (a *Array) Le(b *Array) *Array {
	return broadcast(prim.LesserEqual, prim.BroadcastLesserEqual, a, b)
}

// AddScalar returns a + v.
func (a *Array) AddScalar(v float64) *Array { return withScalar(prim.PlusScalar, a, v) }

// SubScalar returns a - v.
func (a *Array) SubScalar(v float64) *Array { return withScalar(prim.MinusScalar, a, v) }

// RSubScalar returns v - a.
func (a *Array) RSubScalar(v float64) *Array { return withScalar(prim.RMinusScalar, a, v) }

// MulScalar returns a · v.
func (a *Array) MulScalar(v float64) *Array { return withScalar(prim.MulScalar, a, v) }

// DivScalar returns a / v.
func (a *Array) DivScalar(v float64) *Array { return withScalar(prim.DivScalar, a, v) }

// RDivScalar returns v / a.
func (a *Array) RDivScalar(v float64) *Array { return withScalar(prim.RDivScalar, a, v) }

// PowScalar returns a to the power v.
func (a *Array) PowScalar(v float64) *Array { return withScalar(prim.PowerScalar, a, v) }

// MaximumScalar returns the larger of a and v.
func (a *Array) MaximumScalar(v float64) *Array { return withScalar(prim.MaximumScalar, a, v) }

// MinimumScalar returns the smaller of a and v.
func (a *Array) MinimumScalar(v float64) *Array { return withScalar(prim.MinimumScalar, a, v) }

// AddInPlace adds b, of the same shape, to a and returns a. Tapes do not record it.
func (a *Array) AddInPlace(b *Array) *Array {
	return applyTo(a, prim.ElemwiseAdd.Op, op.NoParams{}, a, b)
}

// SubInPlace subtracts b from a and returns a.
func (a *Array) SubInPlace(b *Array) *Array {
	return applyTo(a, prim.ElemwiseSub.Op, op.NoParams{}, a, b)
}

// MulInPlace multiplies a by b, element by element, and returns a.
func (a *Array) MulInPlace(b *Array) *Array {
	return applyTo(a, prim.ElemwiseMul.Op, op.NoParams{}, a, b)
}

// DivInPlace divides a by b, element by element, and returns a.
func (a *Array) DivInPlace(b *Array) *Array {
	return applyTo(a, prim.ElemwiseDiv.Op, op.NoParams{}, a, b)
}

// AddScalarInPlace adds v to a and returns a.
func (a *Array) AddScalarInPlace(v float64) *Array {
	return applyTo(a, prim.PlusScalar.Op, scalarParams(v), a)
}

// MulScalarInPlace multiplies a by v and returns a.
func (a *Array) MulScalarInPlace(v float64) *Array {
	return applyTo(a, prim.MulScalar.Op, scalarParams(v), a)
}

// Neg returns -a.
func (a *Array) Neg() *Array { return unary(prim.Negative, a) }

// Abs returns the absolute values.
func (a *Array) Abs() *Array { return unary(prim.Abs, a) }

// Sign returns -1, 0 or 1.
func (a *Array) Sign() *Array { return unary(prim.Sign, a) }

// Square returns a².
func (a *Array) Square() *Array { return unary(prim.Square, a) }

// Sqrt returns √a.
func (a *Array) Sqrt() *Array { return unary(prim.Sqrt, a) }

// Exp returns e to the power a.
func (a *Array) Exp() *Array { return unary(prim.Exp, a) }

// Log returns the natural logarithm.
func (a *Array) Log() *Array { return unary(prim.Log, a) }

// Relu returns max(a, 0).
func (a *Array) Relu() *Array { return unary(prim.Relu, a) }

// Sigmoid returns 1/(1+exp(-a)).
func (a *Array) Sigmoid() *Array { return unary(prim.Sigmoid, a) }

// Tanh returns the hyperbolic tangent.
func (a *Array) Tanh() *Array { return unary(prim.Tanh, a) }

// unary applies an operator without parameters.
func unary(h op.Handle[op.NoParams], a *Array) *Array { return apply1(h.Op, op.NoParams{}, a) }

// scalarSlots is the number of parameters that are cached.
const scalarSlots = 64

// scalars caches the parameters of operators of an array and a number, by a hash of the number.
// Programs use the same numbers again and again, and converting parameters to an interface would
// allocate memory each time.
var scalars [scalarSlots]atomic.Pointer[scalar]

type scalar struct {
	bits   uint64 // math.Float64bits of the number
	params any    // prim.ScalarParams
}

// scalarParams returns prim.ScalarParams{Scalar: v}.
func scalarParams(v float64) any {
	bits := math.Float64bits(v)
	slot := &scalars[bits*0x9e3779b97f4a7c15>>58]
	if s := slot.Load(); s != nil && s.bits == bits {
		return s.params
	}
	s := &scalar{bits, prim.ScalarParams{Scalar: v}}
	slot.Store(s)
	return s.params
}
