package ndarray

import (
	"math"
	"sync/atomic"

	"gomx/op/prim"
)

// scalarSlots is the number of numbers that are kept as parameters.
const scalarSlots = 64

// scalars holds parameters of operators of an array and a number, by the number: programs use few
// of them again and again, and passing parameters on as an interface would allocate them each time.
var scalars [scalarSlots]atomic.Pointer[scalar]

type scalar struct {
	bits   uint64
	params any // prim.ScalarParams
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
