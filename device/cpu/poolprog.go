//go:build cgo

package cpu

/*
#include "poolprog.h"
#cgo noescape gx_pool_program
#cgo nocallback gx_pool_program
*/
import "C"

import "unsafe"

// PoolProgram pools arrays that are not plain.
type PoolProgram struct{ *Program }

// NewPoolProgram prepares pooling of an array with a number of channels in a layout; the output has
// the same layout if keep is set and is plain otherwise. It serves maxima and averages only.
func NewPoolProgram(s PoolSpec, channels int, l Layout, keep bool) (PoolProgram, error) {
	var prog *C.gx_prog
	k := NewPool(s)
	code := C.gx_pool_program(&prog, &k.p, C.int(elementType(s.DType)), C.int64_t(channels),
		C.int(len(s.In)), C.int(l), boolInt(keep), C.int(s.Threads))
	p, err := newProgram("pooling", prog, code)
	return PoolProgram{p}, err
}

// Run pools x to y.
func (k PoolProgram) Run(y, x, scratch unsafe.Pointer) error {
	return k.run([6]unsafe.Pointer{x, y}, scratch)
}
