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

// dnnNames lists the file names of cuDNN, the newest first.
var dnnNames = []string{"libcudnn.so.9", "libcudnn.so.8"}

// dnn is cuDNN on this machine. Parts of it may be missing.
type dnn struct {
	f       *C.gcu_dnn // addresses of the functions
	version int
	missing [C.gcu_dnn_parts]error // by part; nil: the part is usable
}

// parts names the parts of the library.
var parts = [C.gcu_dnn_parts]string{C.gcu_dnn_convolution: "convolutions",
	C.gcu_dnn_pooling: "pooling", C.gcu_dnn_softmax: "softmax",
	C.gcu_dnn_norm: "batch normalization", C.gcu_dnn_recurrent: "recurrent layers"}

// oldest holds the first version of cuDNN that each part needs; 0 means any version. Before 8.9.1
// recurrent layers need the lengths of sequences in device memory.
var oldest = [C.gcu_dnn_parts]int{C.gcu_dnn_recurrent: 8901}

// theDNN opens cuDNN at the first use. Without it the kernels of this package and products compute
// layers.
var theDNN = sync.OnceValues(func() (*dnn, error) {
	lib, err := OpenLibrary("cuDNN, which computes layers of networks,", dnnNames)
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

// dnnWith returns the library, or an error if it lacks the part.
func dnnWith(part int) (*dnn, error) {
	d, err := theDNN()
	if err == nil {
		err = d.missing[part]
	}
	return d, err
}

// DNN returns nil if cuDNN computes convolutions, otherwise the reason why it does not.
func DNN() error {
	_, err := dnnWith(C.gcu_dnn_convolution)
	return err
}

// DNNMissing returns an error for each part of cuDNN that is missing, so that kernels of this
// package compute its layers. It is empty if all parts are there, and if the whole library is
// missing, which DNN reports.
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

// dnnType is an element type by cuDNN's number, with the type and the mode of its arithmetic.
type dnnType struct{ number, compute, math C.int }

// dnnTypeOf returns cuDNN's numbers for t; ok is false if it does not support t.
func dnnTypeOf(t dtype.Type) (dnnType, bool) {
	const single, double, half, bfloat = 0, 1, 2, 9
	switch t {
	case dtype.Float32:
		if !wholeF32.Load() {
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

// dnnHandle is cuDNN's handle for one queue, made at its first use.
type dnnHandle struct {
	once   sync.Once
	handle unsafe.Pointer
	err    error
}

// on returns cuDNN's handle for a queue.
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

// Workspace returns memory of the queue's device for the work that is put on the queue next; all
// work shares it, because it runs in order. Memory that was returned once is never released, so
// that recordings stay valid.
func (q *Queue) Workspace(bytes int) (unsafe.Pointer, error) { return q.room(&q.space, bytes) }

// Spare is Workspace for copies of the operands of such work.
func (q *Queue) Spare(bytes int) (unsafe.Pointer, error) { return q.room(&q.copies, bytes) }

// room returns memory of one of the workspaces of q.
func (q *Queue) room(w *workspace, bytes int) (unsafe.Pointer, error) {
	if bytes <= w.bytes {
		return w.mem, nil
	}
	if q.tape.refuses() {
		return nil, errNotRecorded
	}
	bytes = max(bytes, 2*w.bytes)
	p, err := backend{}.Alloc(q.gpu.id, bytes)
	if err != nil {
		return nil, err
	}
	w.mem, w.bytes = p, bytes
	return p, nil
}

// workspace is working memory of a queue.
type workspace struct {
	mem   unsafe.Pointer
	bytes int
}
