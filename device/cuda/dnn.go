//go:build cuda

package cuda

/*
#cgo noescape gcu_dnn_conv_run
#cgo nocallback gcu_dnn_conv_run
#include "dnn.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// dnnNames are the files that the library of network layers may be in, the newest first.
var dnnNames = []string{"libcudnn.so.9", "libcudnn.so.8"}

// dnn is cuDNN as found on this machine.
type dnn struct {
	f       C.gcu_dnn
	version int
}

// theDNN opens the library of network layers at the first use. Without it our own kernels and products compute them.
var theDNN = sync.OnceValues(func() (*dnn, error) {
	lib, err := openLibrary("cuDNN, which makes convolutions fast,", dnnNames)
	if err != nil {
		return nil, err
	}
	d := new(dnn)
	var missing *C.char
	if C.gcu_dnn_load(lib, &d.f, &missing) != 0 {
		return nil, fmt.Errorf("cuda: cuDNN has no function %s", C.GoString(missing))
	}
	d.version = int(C.gcu_dnn_version(&d.f))
	return d, nil
})

// DNN returns nil where convolutions run in cuDNN, otherwise why not.
func DNN() error {
	_, err := theDNN()
	return err
}

// check turns a code of the library into an error.
func (d *dnn) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &Error{"cuDNN: " + call, int(code), fmt.Sprintf("%s (%d)", C.GoString(C.gcu_dnn_text(&d.f, code)), int(code))}
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
	h.once.Do(func() {
		h.err = d.check("opening the library", C.gcu_dnn_open(&d.f, q.gpu.c(), q.s, &h.handle))
	})
	return h.handle, h.err
}

// Workspace returns memory of the queue's device for what is put on the queue next: the work before has used it by then. It never moves back
// or shrinks, so that recordings stay valid.
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
