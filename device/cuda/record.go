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

// tape is the recording state of a queue. Only the goroutine that puts work on the queue uses it.
type tape struct {
	on      bool // the queue records
	spoiled bool // work was requested that cannot be recorded
}

// errNotRecorded is returned for work that cannot be recorded.
var errNotRecorded = errors.New("cuda: the work cannot be recorded")

// refuses reports whether the queue is recording, and if so marks the recording as spoiled.
// Functions that make the host and the device wait for each other call it first.
func (t *tape) refuses() bool {
	t.spoiled = t.spoiled || t.on
	return t.on
}

// recording is a graph of the driver that can be launched.
type recording struct {
	q    *Queue
	exec unsafe.Pointer
}

// Record implements device.Recorder. It makes no recording of work with fewer than two kernels.
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

// forget releases a graph; the driver keeps it until it has run.
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
