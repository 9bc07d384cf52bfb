//go:build cgo

package cpu

/*
#include "rotary.h"
#cgo noescape gx_rotary_run
#cgo nocallback gx_rotary_run
*/
import "C"

import "unsafe"

// RotaryPairs is the greatest number of pairs that Rotary takes.
const RotaryPairs = C.GX_ROTARY_PAIRS

// Rotary turns pairs of elements of an array of shape (Outer, Length, Heads, 2·pairs), where Rate
// has an angle in radians for each pair: pair i at step t by (Offset + position + t)·Rate[i]. Share
// sequences have one position.
type Rotary struct {
	Outer, Length, Heads, Offset, Share int
	Rate                                []float64 // at least one, at most RotaryPairs
	Interleaved                         bool      // elements of a pair are side by side
	Back                                bool      // turn the other way
	Threads                             int
}

// Run writes y, which may be x. Position holds an int32 for each Share sequences; nil: zeros.
func (k *Rotary) Run(y, x, position unsafe.Pointer) {
	p := C.gx_rotary{outer: C.int64_t(k.Outer), length: C.int64_t(k.Length),
		heads: C.int64_t(k.Heads), pairs: C.int64_t(len(k.Rate)), offset: C.int64_t(k.Offset),
		share: C.int64_t(k.Share), interleaved: C.int32_t(boolInt(k.Interleaved)),
		back: C.int32_t(boolInt(k.Back))}
	C.gx_rotary_run((*C.float)(y), (*C.float)(x), (*C.int32_t)(position),
		(*C.double)(unsafe.SliceData(k.Rate)), &p, C.int(k.Threads))
}
