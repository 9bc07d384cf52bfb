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

// ErrNotServed means that cuDNN does not compute a layer as it was asked for: our own kernels do.
var ErrNotServed = errors.New("cuda: cuDNN does not serve this layer")

// layer is a layer that is one call of cuDNN. It serves any number of queues.
type layer struct {
	lib     *dnn
	c       *C.gcu_dnn_layer
	what    string      // for errors: the layer and its extents
	refused atomic.Bool // the library said that it does not compute it
}

// newLayer makes the descriptors of a layer, nil where the library is missing or does not take it.
func newLayer(part int, what string, make func(f *C.gcu_dnn, l *C.gcu_dnn_layer) C.int) *layer {
	lib, err := dnnWith(part)
	if err != nil {
		return nil
	}
	l := &layer{lib: lib, c: new(C.gcu_dnn_layer), what: what}
	if make(lib.f, l.c) != 0 {
		return nil
	}
	runtime.AddCleanup(l, func(made *C.gcu_dnn_layer) { C.gcu_dnn_layer_free(lib.f, made) }, l.c)
	return l
}

// run puts a call of the library on q. What the library does not support it is not asked for again.
func (l *layer) run(q *Queue, call func(f *C.gcu_dnn, ctx, handle unsafe.Pointer) C.int) error {
	if l.refused.Load() {
		return ErrNotServed
	}
	handle, err := l.lib.on(q)
	if err != nil {
		return err
	}
	code := call(l.lib.f, q.gpu.c(), handle)
	runtime.KeepAlive(l)
	if declines(code) {
		l.refused.Store(true)
		return ErrNotServed
	}
	q.gpu.launches.Add(1)
	return l.lib.check(l.what, code)
}

// declines reports whether a code says that the library does not compute what it was asked for:
// versions before 9 have two such codes, 9 has a thousand.
func declines(code C.int) bool { return code == 6 || code == 9 || code/1000 == 3 }

// whole reports whether the library can count the elements of an array that has some.
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
