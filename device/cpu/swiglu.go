//go:build cgo

package cpu

/*
#include "swiglu.h"
#cgo noescape gx_swiglu_forward
#cgo nocallback gx_swiglu_forward
#cgo noescape gx_swiglu_grad
#cgo nocallback gx_swiglu_grad
*/
import "C"

import "unsafe"

// SwiGLU is silu(a)·b of Rows rows of N elements. The rows of a, b and their gradients are Step
// elements apart; others follow one another.
type SwiGLU struct {
	Rows, N, Step int
	Threads       int
}

func (k *SwiGLU) c() C.gx_swiglu {
	return C.gx_swiglu{rows: C.int64_t(k.Rows), n: C.int64_t(k.N), step: C.int64_t(k.Step)}
}

// Run writes y, which may be a or b where rows follow one another.
func (k *SwiGLU) Run(y, a, b unsafe.Pointer) {
	p := k.c()
	C.gx_swiglu_forward((*C.float)(y), (*C.float)(a), (*C.float)(b), &p, C.int(k.Threads))
}

// RunGrad writes the gradients of a and b; each of the two may be nil, and may be dy where rows
// follow one another.
func (k *SwiGLU) RunGrad(da, db, dy, a, b unsafe.Pointer) {
	p := k.c()
	C.gx_swiglu_grad((*C.float)(da), (*C.float)(db), (*C.float)(dy), (*C.float)(a), (*C.float)(b),
		&p, C.int(k.Threads))
}
