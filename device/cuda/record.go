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
	"sync"
	"unsafe"

	"gomx/device"
	"gomx/dtype"
)

// tape is the recording state of a queue. Only the goroutine that puts work on the queue uses it.
type tape struct {
	on      bool // the queue records
	spoiled bool // work was requested that cannot be recorded
	seed    uint64
	draws   bool // kernels count from the queue's base
	work    [kinds]int64
	names   map[string]int64 // operations by name
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
	// kernels draw random numbers, from a counter that base is added to
	draws bool
	// the recorded operations by kind, and by name
	work  [kinds]int64
	names map[string]int64
}

// Record implements device.Recorder. It makes no recording of work with fewer than two kernels.
func (q *Queue) Record(seed uint64, work func() error) (device.Recording, error) {
	if err := q.openBase(); err != nil || q.tape.on {
		return nil, err
	}
	if err := q.PutLate(); err != nil {
		return nil, err
	}
	if C.gcu_record_begin(q.gpu.c(), q.s) != 0 {
		return nil, nil
	}
	q.tape = tape{on: true, seed: seed, names: map[string]int64{}}
	failed := work()
	if err := q.PutLate(); failed == nil {
		failed = err
	}
	made := q.tape
	q.tape = tape{}
	var exec unsafe.Pointer
	code := C.gcu_record_end(q.gpu.c(), q.s, &exec)
	if failed != nil && !made.spoiled {
		q.forget(exec)
		return nil, failed
	}
	if code != 0 || made.spoiled || made.work[ranKernel]+made.work[ranCall] < 2 {
		q.forget(exec)
		return nil, nil
	}
	r := &recording{q: q, exec: exec, draws: made.draws, work: made.work, names: made.names}
	runtime.AddCleanup(r, func(exec unsafe.Pointer) { q.forget(exec) }, exec)
	return r, nil
}

// openBase allocates the base of random numbers in recordings, at the first recording.
func (q *Queue) openBase() (err error) {
	if q.base == nil {
		q.base, err = backend{}.Alloc(q.gpu.id, 256)
	}
	return err
}

// baseFunction is the kernel that stores a base.
var baseFunction = sync.OnceValue(func() *Function { return Func("random", "base", dtype.Float32) })

// Seed returns the counter of a kernel that draws random numbers, and the address of a number that
// the kernel must add to it, 0 for none: the same kernel in a recording draws other numbers in each
// replay.
func (q *Queue) Seed(counter uint64) (from, base uint64) {
	if !q.tape.on {
		return counter, 0
	}
	q.tape.draws = true
	return counter - q.tape.seed, P(q.base)
}

// forget releases a graph; the driver keeps it until it has run.
func (q *Queue) forget(exec unsafe.Pointer) {
	if exec != nil {
		C.gcu_forget(q.gpu.c(), exec)
	}
}

// Replay implements device.Recording.
func (r *recording) Replay(seed uint64) error {
	if r.draws {
		if err := r.q.Launch(baseFunction(), Grid{1, 1, 32}, P(r.q.base), seed); err != nil {
			return err
		}
	}
	r.q.gpu.launches.Add(1)
	r.q.gpu.replayed(r)
	err := check("launching a recording", C.gcu_replay(r.q.gpu.c(), r.q.s, r.exec))
	runtime.KeepAlive(r)
	return err
}
