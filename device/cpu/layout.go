//go:build cgo

package cpu

/*
#include "prog.h"
#cgo noescape gx_reorder
#cgo nocallback gx_reorder
*/
import "C"

import (
	"unsafe"

	"gomx/dtype"
)

// Layouts have the same numbers in Go and in C.
var _ = [1]struct{}{}[(LayoutPlain-C.GX_PLAIN)|(LayoutLast-C.GX_LAST)|
	(LayoutBlock8-C.GX_BLOCK8)|(LayoutBlock16-C.GX_BLOCK16)]

// Reorder copies arrays from one layout to another.
type Reorder struct{ *Program }

// NewReorder prepares copies of arrays of float32, bfloat16 or bytes, of a shape with one to three
// spatial axes.
func NewReorder(t dtype.Type, shape []int, from, to Layout, threads int) (Reorder, error) {
	var prog *C.gx_prog
	var dims [5]C.int64_t
	for i, n := range shape {
		dims[i] = C.int64_t(n)
	}
	code := C.gx_reorder(&prog, C.int(elementType(t)), C.int(len(shape)-2), &dims[0], C.int(from),
		C.int(to), C.int(threads))
	p, err := newProgram("change of layout", prog, code)
	return Reorder{p}, err
}

// Run copies x to y.
func (r Reorder) Run(y, x, scratch unsafe.Pointer) error {
	return r.run([6]unsafe.Pointer{x, y}, scratch)
}
