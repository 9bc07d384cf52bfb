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

// alignment is the alignment in bytes that operands of cuDNN must have: its kernels read 16 bytes
// at once, and an algorithm that was measured on aligned memory may fail on other memory. Views
// begin anywhere.
const alignment = 16

// bitsOf returns the bits of addresses, ORed.
func bitsOf(list ...unsafe.Pointer) (bits uintptr) {
	for _, p := range list {
		bits |= uintptr(p)
	}
	return bits
}

// operand is an operand of a library's call: the place of its address, its size in bytes, and
// whether the call reads and writes it.
type operand struct {
	p             *unsafe.Pointer
	bytes         int
	reads, writes bool
}

// mostOperands bounds the operands of one call.
const mostOperands = 16

// align lets every operand begin at an aligned address for the work that fn puts on q: copies of
// other operands, made on the device, replace them meanwhile. It keeps no pointer, so that a call
// whose operands are aligned allocates nothing.
func (q *Queue) align(list []operand, fn func() error) error {
	total := 0
	for _, o := range list {
		if uintptr(*o.p)%alignment != 0 {
			total += (o.bytes + 255) &^ 255
		}
	}
	if total == 0 {
		return fn()
	}
	space, err := q.room(&q.copies, total)
	if err != nil {
		return err
	}
	var original [mostOperands]unsafe.Pointer
	for i, o := range list {
		original[i] = *o.p
		if err != nil || uintptr(*o.p)%alignment == 0 {
			continue
		}
		if o.reads {
			err = q.CopyFrom(space, q.Device(), *o.p, o.bytes)
		}
		*o.p = space
		space = unsafe.Add(space, (o.bytes+255)&^255)
	}
	if err == nil {
		err = fn()
	}
	for i, o := range list {
		if err == nil && o.writes && *o.p != original[i] {
			err = q.CopyFrom(original[i], q.Device(), *o.p, o.bytes)
		}
		*o.p = original[i]
	}
	return err
}
