package ndarray

import (
	"math"
	"sync/atomic"

	"gomx/op/prim"
)

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
