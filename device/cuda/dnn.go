//go:build cuda

package cuda

/*
#include "dnn.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"gomx/dtype"
)

// dnnNames are the files that the library of network layers may be in, the newest first.
var dnnNames = []string{"libcudnn.so.9", "libcudnn.so.8"}

// dnn is cuDNN as found on this machine. Parts of it may be missing.
type dnn struct {
	f       *C.gcu_dnn
	version int
	missing [C.gcu_dnn_parts]error
}

// parts names the parts of the library.
var parts = [C.gcu_dnn_parts]string{C.gcu_dnn_convolution: "convolutions",
	C.gcu_dnn_pooling: "pooling", C.gcu_dnn_softmax: "softmax",
	C.gcu_dnn_norm: "batch normalization", C.gcu_dnn_recurrent: "recurrent layers"}

// oldest says which version of the library each part needs, where versions that are looked for
// exist that do not have it.
// lengths of sequences had to lie on the device before
var oldest = [C.gcu_dnn_parts]int{C.gcu_dnn_recurrent: 8901}

// theDNN opens the library of network layers at the first use. Without it our own kernels and
// products compute them.
var theDNN = sync.OnceValues(func() (*dnn, error) {
	lib, err := openLibrary("cuDNN, which makes layers of networks fast,", dnnNames)
	if err != nil {
		return nil, err
	}
	d := &dnn{f: new(C.gcu_dnn)}
	for part := range d.missing {
		var missing *C.char
		switch {
		case C.gcu_dnn_load(lib, d.f, C.int(part), &missing) == 0:
			d.missing[part] = fmt.Errorf("cuda: cuDNN has no function %s", C.GoString(missing))
		case part == C.gcu_dnn_core:
			d.version = int(C.gcu_dnn_version(d.f))
		case d.version < oldest[part]:
			d.missing[part] = fmt.Errorf("cuda: cuDNN has version %d, want %d or later", d.version,
				oldest[part])
		}
		if part == C.gcu_dnn_core && d.missing[part] != nil {
			return nil, d.missing[part]
		}
	}
	return d, nil
})

// dnnWith returns the library if it has a part.
func dnnWith(part int) (*dnn, error) {
	d, err := theDNN()
	if err == nil {
		err = d.missing[part]
	}
	return d, err
}

// DNN returns nil where convolutions run in cuDNN, otherwise why not.
func DNN() error {
	_, err := dnnWith(C.gcu_dnn_convolution)
	return err
}

// DNNMissing says which parts of cuDNN our own kernels and products do without, and why. It is
// empty where all are there, and where the library as a whole is missing, which DNN says.
func DNNMissing() (list []error) {
	if d, err := theDNN(); err == nil {
		for part, err := range d.missing {
			if err != nil {
				list = append(list, fmt.Errorf("%s: %w", parts[part], err))
			}
		}
	}
	return list
}

// The library's numbers for arithmetic.
const dnnDefaultMath, dnnTensorMath, dnnFMAMath = 0, 1, 3

// dnnType is an element type as the library knows it, with the type and the arithmetic that compute
// with it.
type dnnType struct{ number, compute, math C.int }

// dnnTypeOf returns an element type of the library.
func dnnTypeOf(t dtype.Type) (dnnType, bool) {
	const single, double, half, bfloat = 0, 1, 2, 9
	switch t {
	case dtype.Float32:
		if tf32.Load() {
			return dnnType{single, single, dnnDefaultMath}, true
		}
		return dnnType{single, single, dnnFMAMath}, true
	case dtype.Float64:
		return dnnType{double, double, dnnDefaultMath}, true
	case dtype.Float16:
		return dnnType{half, single, dnnTensorMath}, true
	case dtype.BFloat16:
		return dnnType{bfloat, single, dnnTensorMath}, true
	}
	return dnnType{}, false
}

// check turns a code of the library into an error.
func (d *dnn) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &Error{"cuDNN: " + call, int(code), fmt.Sprintf("%s (%d)",
		C.GoString(C.gcu_dnn_text(d.f, code)), int(code))}
}

// dnnHandle is the library's state of one queue, made at its first use.
type dnnHandle struct {
	once   sync.Once
	handle unsafe.Pointer
	err    error
}

// on returns the library's state of a queue.
func (d *dnn) on(q *Queue) (unsafe.Pointer, error) {
	h := &q.dnn
	if h.handle == nil && q.tape.refuses() {
		return nil, errNotRecorded
	}
	h.once.Do(func() {
		h.err = d.check("opening the library", C.gcu_dnn_open(d.f, q.gpu.c(), q.s, &h.handle))
	})
	return h.handle, h.err
}

// Workspace returns memory of the queue's device for what is put on the queue next: the work before
// has used it by then. It never moves back or shrinks, so that recordings stay valid.
func (q *Queue) Workspace(bytes int) (unsafe.Pointer, error) {
	if bytes <= q.space.bytes {
		return q.space.mem, nil
	}
	if q.tape.refuses() {
		return nil, errNotRecorded
	}
	bytes = max(bytes, 2*q.space.bytes)
	p, err := backend{}.Alloc(q.gpu.id, bytes)
	if err != nil {
		return nil, err
	}
	q.space.mem, q.space.bytes = p, bytes
	return p, nil
}

// workspace is memory that belongs to a queue.
type workspace struct {
	mem   unsafe.Pointer
	bytes int
}
