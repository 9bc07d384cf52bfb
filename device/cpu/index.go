//go:build cgo

package cpu

/*
#include "index.h"
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

import (
	"unsafe"

	"gomx/dtype"
)

// Lookup finds rows of tables of shape (Rows, Width) by N indices.
type Lookup struct {
	N, Rows, Width int
	Outer          int  // tables that lie one behind the other
	Wrap           bool // an index outside counts modulo Rows; otherwise it is clipped
	Threads        int

	index C.int
	size  int // bytes of an element
}

// Indexed returns l for indices of type index and elements of type elem. It reports false when there
// is no kernel for the indices.
func (l Lookup) Indexed(index, elem dtype.Type) (Lookup, bool) {
	code, ok := castTypes[index]
	l.index, l.size = code, elem.Size()
	return l, ok
}

// Scratch is the number of bytes that Run needs.
func (l Lookup) Scratch() int { return 8 * l.N }

func (l Lookup) indices() C.gx_indices {
	mode := C.int(C.GX_NEAREST)
	if l.Wrap {
		mode = C.GX_WRAP
	}
	return C.gx_indices{_type: l.index, n: C.int64_t(l.N), rows: C.int64_t(l.Rows), mode: mode}
}

// Run writes row index[i] of each table to row i of a part of d, one part behind the other.
func (l Lookup) Run(d, tables, index, scratch unsafe.Pointer) {
	x := l.indices()
	C.gx_take(d, tables, index, &x, (*C.int64_t)(scratch), C.int64_t(l.Outer), C.int64_t(l.Width),
		C.int64_t(l.size), C.int(l.Threads))
}

// RunGrad writes to d, a table of float32, the sums of the rows of s that have the same index.
func (l Lookup) RunGrad(d, s, index unsafe.Pointer) {
	x := l.indices()
	C.gx_lookup_add((*C.float)(d), (*C.float)(s), index, &x, C.int64_t(l.Width), C.int(l.Threads))
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
