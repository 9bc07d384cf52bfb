//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_softmax_run
#cgo nocallback gcu_dnn_softmax_run
#cgo noescape gcu_dnn_softmax_back
#cgo nocallback gcu_dnn_softmax_back
#include "layers.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gomx/dtype"
)

// Softmax is softmax, or its logarithm, along the middle axis of [outer][n][inner], computed by
// cuDNN.
type Softmax struct{ l *layer }

// NewSoftmax describes softmax to cuDNN, or returns nil if the library is missing or does not
// support it.
func NewSoftmax(t dtype.Type, log bool, outer, n, inner int) *Softmax {
	e, ok := dnnTypeOf(t)
	if !ok || !whole(outer, n, inner) {
		return nil
	}
	const accurate, logarithm = 1, 2
	algorithm := C.int(accurate)
	if log {
		algorithm = logarithm
	}
	dims := [4]C.int{C.int(outer), C.int(n), C.int(inner), 1}
	l := newLayer(C.gcu_dnn_softmax, "softmax", fmt.Sprint(t, " ", [...]int{outer, n, inner}),
		func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int {
			return C.gcu_dnn_softmax_make(f, e.number, algorithm, &dims[0], l)
		})
	if l == nil {
		return nil
	}
	return &Softmax{l}
}

// Forward computes y from x, which may be the same memory. It returns ErrNotServed, and does
// nothing, if cuDNN does not support the layer.
func (s *Softmax) Forward(q *Queue, y, x unsafe.Pointer) error {
	return s.l.run(q, bitsOf(y, x), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_softmax_run(f, ctx, h, s.l.c, y, x)
	})
}

// Backward computes dx from dy, which may be the same memory, and from the output y.
func (s *Softmax) Backward(q *Queue, dx, dy, y unsafe.Pointer) error {
	return s.l.run(q, bitsOf(dx, dy, y), func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_softmax_back(f, ctx, h, s.l.c, dx, dy, y)
	})
}
