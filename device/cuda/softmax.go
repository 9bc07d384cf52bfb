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

// Softmax is softmax, or its logarithm, along the middle axis of [outer][n][inner] as cuDNN
// computes it.
type Softmax struct{ l *layer }

// NewSoftmax describes softmax to cuDNN, nil where the library is missing or does not take it.
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
	l := newLayer(C.gcu_dnn_softmax, fmt.Sprint("softmax ", t, " ", [...]int{outer, n, inner}),
		func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int {
			return C.gcu_dnn_softmax_make(f, e.number, algorithm, &dims[0], l)
		})
	if l == nil {
		return nil
	}
	return &Softmax{l}
}

// Forward computes y of x, which may be the same. The error is ErrNotServed where nothing was done.
func (s *Softmax) Forward(q *Queue, y, x unsafe.Pointer) error {
	return s.l.run(q, func(f *C.gcu_dnn, ctx,
		h unsafe.Pointer) C.int {
		return C.gcu_dnn_softmax_run(f, ctx, h, s.l.c, y, x)
	})
}

// Backward computes dx of dy, which may be the same, and of the output y.
func (s *Softmax) Backward(q *Queue, dx, dy, y unsafe.Pointer) error {
	return s.l.run(q, func(f *C.gcu_dnn, ctx, h unsafe.Pointer) C.int {
		return C.gcu_dnn_softmax_back(f, ctx, h, s.l.c, dx, dy, y)
	})
}
