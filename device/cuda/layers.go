//go:build cuda

package cuda

/*
#include "layers.h"
*/
import "C"

import (
	"errors"
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// ErrNotServed means that cuDNN does not support a layer: kernels of this package must compute it.
var ErrNotServed = errors.New("cuda: cuDNN does not serve this layer")

// layer is a layer that is one call of cuDNN. Any number of queues may use it.
type layer struct {
	lib     *dnn
	c       *C.gcu_dnn_layer
	kind    string      // the layer, for counts
	what    string      // the layer and its extents, for errors
	refused atomic.Bool // a call has returned that cuDNN does not support it
	ran     atomic.Bool // a call has succeeded
}

// newLayer makes the descriptors of a layer, or returns nil if cuDNN is missing or does not support
// it.
func newLayer(part int, kind, extents string,
	make func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int) *layer {
	lib, err := dnnWith(part)
	if err != nil {
		return nil
	}
	l := &layer{lib: lib, c: new(C.gcu_dnn_layer), kind: kind, what: kind + " " + extents}
	if make(lib.f, l.c) != 0 {
		return nil
	}
	runtime.AddCleanup(l, func(made *C.gcu_dnn_layer) { C.gcu_dnn_layer_free(lib.f, made) }, l.c)
	return l
}

// run puts a call of cuDNN on q whose operands' addresses have the given bits, ORed. It does not
// call cuDNN again for a layer that cuDNN does not support, nor for operands that begin at odd
// addresses.
func (l *layer) run(q *Queue, bits uintptr, call func(f *C.gcu_dnn, ctx,
	handle unsafe.Pointer) C.int) error {
	if l.refused.Load() || bits%alignment != 0 {
		return ErrNotServed
	}
	handle, err := l.lib.on(q)
	if err != nil {
		return err
	}
	code := call(l.lib.f, q.gpu.c(), handle)
	runtime.KeepAlive(l)
	if declines(code) || badParam(code) && !l.ran.Load() {
		l.refused.Store(true)
		return ErrNotServed
	}
	if code == 0 && !l.ran.Load() {
		l.ran.Store(true)
	}
	q.launched(ranCall, l.kind)
	return l.lib.check(l.what, code)
}

// declines reports whether a code means "not supported": versions before 9 have two such codes,
// version 9 has a thousand.
func declines(code C.int) bool { return code == 6 || code == 9 || code/1000 == 3 }

// badParam reports whether a code means that an argument is wrong. Versions of cuDNN differ in the
// layers for which they return it instead of "not supported", so at the first call of a layer it
// counts as that.
func badParam(code C.int) bool { return code == 3 || code/1000 == 2 }

// whole reports whether the array has elements, and no more than cuDNN can count.
func whole(extents ...int) bool {
	n := 1
	for _, d := range extents {
		if d < 1 || d > math.MaxInt32 {
			return false
		}
		if n *= d; n > math.MaxInt32 {
			return false
		}
	}
	return true
}
