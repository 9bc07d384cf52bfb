//go:build cgo

package cpu

/*
#include "index.h"
#cgo noescape gx_lookup
#cgo nocallback gx_lookup
#cgo noescape gx_take
#cgo nocallback gx_take
#cgo noescape gx_lookup_add
#cgo nocallback gx_lookup_add
#cgo noescape gx_one_hot
#cgo nocallback gx_one_hot
#cgo noescape gx_mask
#cgo nocallback gx_mask
*/
import "C"

import "unsafe"

// Lookup finds rows of a table of shape (Rows, Width) by N float32 indices.
type Lookup struct {
	N, Rows, Width int
	Wrap           bool // an index outside counts modulo Rows; otherwise it is clipped
	Threads        int
}

func (l Lookup) mode() C.int {
	if l.Wrap {
		return C.GX_WRAP
	}
	return C.GX_CLIP
}

// Run writes row index[i] of the table to row i of d.
func (l Lookup) Run(d, table, index unsafe.Pointer) {
	C.gx_lookup((*C.float)(d), (*C.float)(table), (*C.float)(index), C.int64_t(l.N),
		C.int64_t(l.Rows), C.int64_t(l.Width), l.mode(), C.int(l.Threads))
}

// RunEach looks the same indices up in each of outer tables, one after the other.
func (l Lookup) RunEach(d, tables, index unsafe.Pointer, outer int) {
	C.gx_take((*C.float)(d), (*C.float)(tables), (*C.float)(index), C.int64_t(outer),
		C.int64_t(l.N), C.int64_t(l.Rows), C.int64_t(l.Width), l.mode(), C.int(l.Threads))
}

// RunGrad writes to d, of the table's shape, the sums of the rows of s that have the same index.
func (l Lookup) RunGrad(d, s, index unsafe.Pointer) {
	C.gx_lookup_add((*C.float)(d), (*C.float)(s), (*C.float)(index), C.int64_t(l.N),
		C.int64_t(l.Rows), C.int64_t(l.Width), l.mode(), C.int(l.Threads))
}

// OneHot writes rows that are On at the row's index and Off elsewhere.
type OneHot struct {
	N, Depth int
	On, Off  float32
	Threads  int
}

// Run writes N rows of Depth elements.
func (o OneHot) Run(d, index unsafe.Pointer) {
	C.gx_one_hot((*C.float)(d), (*C.float)(index), C.int64_t(o.N), C.int64_t(o.Depth),
		C.float(o.On), C.float(o.Off), C.int(o.Threads))
}

// Mask multiplies N elements by Scale where a mask of bytes is not zero and clears the others.
type Mask struct {
	N       int
	Scale   float32
	Threads int
}

// Run writes to d, which may be the memory of x.
func (m Mask) Run(d, x, mask unsafe.Pointer) {
	C.gx_mask((*C.float)(d), (*C.float)(x), (*C.uint8_t)(mask), C.int64_t(m.N), C.float(m.Scale),
		C.int(m.Threads))
}
