//go:build cgo

package cpu

/*
#include "narrow.h"
#cgo noescape gx_bf16_sum_rows
#cgo nocallback gx_bf16_sum_rows
*/
import "C"

import "unsafe"

// NarrowSums adds up the columns of a bfloat16 matrix in float32.
type NarrowSums struct{ Rows, Cols, Threads int }

// Run writes the sum of each column of x, rounded to bfloat16, to d.
func (k NarrowSums) Run(d, x unsafe.Pointer) {
	C.gx_bf16_sum_rows((*C.uint16_t)(d), (*C.uint16_t)(x), C.int64_t(k.Rows), C.int64_t(k.Cols),
		C.int(k.Threads))
}
