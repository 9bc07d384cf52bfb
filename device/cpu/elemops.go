//go:build cgo

package cpu

// #include "elem.h"
import "C"

// MapOp is a function of one element x with constants S and T.
type MapOp int

// The functions of one element, in the order of the list in elem.h.
const (
	Copy MapOp = iota
	Neg
	Abs
	Sign // -1, 0 or 1, 0 for NaN
	Square
	Sqrt
	Rsqrt
	Cbrt
	Rcbrt
	Reciprocal
	Exp
	Expm1
	Log
	Log1p
	Log2
	Log10
	Floor
	Ceil
	Trunc
	Rint  // to the nearest integer, halves down
	Round // to the nearest integer, halves away from zero
	ReLU
	Sigmoid
	Tanh
	Softplus // log(1 + exp(x))
	Softsign
	Erf
	GELU
	Leaky     // x, or S · x where x is not positive
	ELU       // x, or S · (exp(x) - 1) where x is not positive
	ScaledELU // T · ELU
	Clip      // x between S and T
	AddS      // x + S
	MulS      // x · S
	RSubS     // S - x
	DivS      // x / S
	RDivS     // S / x
	MaxS      // the larger of x and S
	MinS      // the smaller
	PowS      // x to the power S
	RPowS     // S to the power x
	ModS      // x modulo S
	RModS     // S modulo x
	HypotS    // √(x² + S²)
	EqS       // x = S as 0 or 1
	NeS
	GtS
	GeS
	LtS
	LeS
	Not // x = 0 as 0 or 1
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	numMaps
)

// ZipOp is a function of two elements.
type ZipOp int

// The functions of two elements, in the order of the lists in elem.h; those up to Xor broadcast.
const (
	Add ZipOp = iota
	Sub
	Mul
	Div
	Max
	Min
	Pow
	Mod
	Hypot
	Eq
	Ne
	Gt
	Ge
	Lt
	Le
	And
	Or
	Xor
	ReLUGrad // gradients get the gradient a of the output and the saved output b
	SigmoidGrad
	TanhGrad
	SoftplusGrad
	SoftsignXGrad // those with an X get the saved input
	GELUXGrad
	LeakyXGrad
	ELUGrad
	ELUXGrad
	SELUGrad
	AXPBY // S · a + T · b
	numZips
)

const lastBroadcast = Xor

// Slow reports whether an element takes several times as long as one of a sum.
func (m MapOp) Slow() bool {
	switch m {
	case Cbrt, Rcbrt, PowS, RPowS, ModS, RModS:
		return true
	}
	return m >= Exp && m <= Log10 || m >= Sigmoid && m <= GELU || m == ELU || m == ScaledELU ||
		m >= Sin
}

// Slow reports whether an element takes several times as long as one of a sum.
func (z ZipOp) Slow() bool {
	switch z {
	case Pow, Mod, SoftplusGrad, GELUXGrad, ELUXGrad:
		return true
	}
	return false
}

// The lists here and in C have the same lengths: otherwise one of these is negative and does not
// compile.
const (
	_ = uint(C.GX_NUM_MAPS - numMaps)
	_ = uint(numMaps - C.GX_NUM_MAPS)
	_ = uint(C.GX_NUM_GRADS - numZips)
	_ = uint(numZips - C.GX_NUM_GRADS)
)
