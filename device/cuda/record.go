//go:build cuda

package cuda

/*
#cgo noescape gcu_replay
#cgo nocallback gcu_replay
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"

	"gomx/device"
)

// tape is the state of a queue that records. It belongs to the goroutine that puts work on the
// queue.
type tape struct {
	on      bool
	spoiled bool // something was asked for that cannot be recorded
}

// errNotRecorded ends work that cannot be recorded.
var errNotRecorded = errors.New("cuda: this cannot be recorded")

// refuses reports whether the queue records, and marks the recording as spoiled. What waits for the
// host, or makes it wait, asks for it first.
func (t *tape) refuses() bool {
	t.spoiled = t.spoiled || t.on
	return t.on
}

// recording is a graph of the driver, ready to be launched.
type recording struct {
	q    *Queue
	exec unsafe.Pointer
}

// Record implements device.Recorder. Work of one kernel is not worth a recording.
func (q *Queue) Record(work func() error) (device.Recording, error) {
	if q.tape.on || C.gcu_record_begin(q.gpu.c(), q.s) != 0 {
		return nil, nil
	}
	q.tape = tape{on: true}
	before := q.gpu.launches.Load()
	failed := work()
	launched := q.gpu.launches.Load() - before
	spoiled := q.tape.spoiled
	q.tape = tape{}
	var exec unsafe.Pointer
	code := C.gcu_record_end(q.gpu.c(), q.s, &exec)
	if failed != nil && !spoiled {
		q.forget(exec)
		return nil, failed
	}
	if code != 0 || spoiled || launched < 2 {
		q.forget(exec)
		return nil, nil
	}
	r := &recording{q: q, exec: exec}
	runtime.AddCleanup(r, func(exec unsafe.Pointer) { q.forget(exec) }, exec)
	return r, nil
}

// forget gives a graph back to the driver, which keeps it until it has run.
func (q *Queue) forget(exec unsafe.Pointer) {
	if exec != nil {
		C.gcu_forget(q.gpu.c(), exec)
	}
}

// Replay implements device.Recording.
func (r *recording) Replay() error {
	r.q.gpu.launches.Add(1)
	err := check("launching a recording", C.gcu_replay(r.q.gpu.c(), r.q.s, r.exec))
	runtime.KeepAlive(r)
	return err
}
