//go:build cgo

package cpu

/*
#include "gx.h"

#cgo noescape gx_sum_parts
#cgo nocallback gx_sum_parts
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// MaxParts is the largest number of parts of SumParts.
const MaxParts = 16

// SumParts writes the sum of 1 to MaxParts parts, elementwise and in their order, rounding after
// each addition, to dst, which may be the first part. Unless out is empty it writes the sum to out
// too, past the caches; out may be one of the parts. All have one length, or it panics.
func SumParts(dst, out []float32, parts [][]float32) {
	var pin runtime.Pinner
	defer pin.Unpin()
	var list [MaxParts]*C.float
	for i, p := range parts {
		if len(p) != len(dst) {
			panic("cpu: SumParts of memory of different lengths")
		}
		list[i] = (*C.float)(unsafe.SliceData(p))
		pin.Pin(list[i])
	}
	if len(out) != 0 && len(out) != len(dst) {
		panic("cpu: SumParts into memory of another length")
	}
	C.gx_sum_parts((*C.float)(unsafe.SliceData(dst)), (*C.float)(unsafe.SliceData(out)), &list[0],
		C.int(len(parts)), C.int64_t(len(dst)))
}
