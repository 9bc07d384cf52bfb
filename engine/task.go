package engine

import (
	"fmt"
	"math"

	"gomx/device"
)

// Access tells how an operation uses a variable.
type Access uint8

// The access modes. The zero value is Read.
const (
	Read Access = iota // looks at the value; any number of operations read at once
	// replaces the whole value without looking at the old one: cures a poisoned variable
	Overwrite
	// changes part of the value or reads it first: a poisoned variable stays poisoned
	Update
)

var accessNames = [...]string{Read: "read", Overwrite: "overwrite", Update: "update"}

// String returns read, overwrite or update.
func (a Access) String() string {
	if int(a) >= len(accessNames) {
		return fmt.Sprintf("access%d", uint8(a))
	}
	return accessNames[a]
}

// Use is one variable of an operation and the access to it.
type Use struct {
	Var    *Var
	Access Access
}

// LaneKind is a kind of queue that a device works off independently of its others.
type LaneKind uint8

// The lanes of a device. The zero value is Compute.
const (
	Compute LaneKind = iota // kernels
	CopyIn                  // copies to the device
	CopyOut                 // copies from the device
	Beside                  // kernels that run beside Compute; later kinds are further such lanes
)

var laneNames = [...]string{Compute: "compute", CopyIn: "copy in", CopyOut: "copy out",
	Beside: "beside"}

// String returns compute, copy in, copy out or beside.
func (k LaneKind) String() string {
	if int(k) >= len(laneNames) {
		return fmt.Sprintf("lane%d", uint8(k))
	}
	return laneNames[k]
}

// Lane is where an operation runs. The zero value is computing on the processor.
// Lanes of the processor share its workers; every lane of another device has one goroutine,
// bound to its thread, that runs the bodies one at a time in the order in which they became ready.
type Lane struct {
	Device device.Device
	Kind   LaneKind
}

// String formats l as "cpu(0)" or "gpu(1) copy in".
func (l Lane) String() string {
	if l.Kind == Compute {
		return l.Device.String()
	}
	return l.Device.String() + " " + l.Kind.String()
}

// host reports whether the workers of the processor run operations of l.
func (l Lane) host() bool { return l.Device.Kind == device.KindCPU }

// Band is a priority. Among the ready operations of one queue those of a higher band run first,
// and within a band in the order in which they became ready.
type Band uint8

// The priority bands. The zero value is Normal.
const (
	Normal Band = iota
	High
	Urgent
	Low
)

// bands is the number of bands; rank orders them from the first to run to the last.
const bands = 4

var rank = [bands]uint8{Urgent: 0, High: 1, Normal: 2, Low: 3}

// Event is a mark in the queue of a device, made and understood by the device's own code.
type Event = any

// Task describes an operation: its body, its variables and its place. The zero value of each field
// is the common case. Exactly one of Fn and Async must be set.
type Task struct {
	// Name is shown in errors, dumps and profiles.
	Name string
	// Fn is the body of a synchronous operation: when it returns the operation is complete. On hot
	// paths it is a plain function whose state is in Arg: a closure would be allocated at every
	// push.
	Fn func(r *Run) error
	// Async is the body of an operation that completes when done is called, from any thread,
	// exactly once. After that call r is not valid any more.
	Async func(r *Run, done func(error))
	// Arg is handed to the body as Run.Arg.
	Arg any
	// Uses are the variables. Push copies them and merges duplicates: a variable both read and
	// overwritten is updated.
	Uses []Use
	// Lane is where the body runs.
	Lane Lane
	// Priority is the band among ready operations of the same queue.
	Priority Band
	// Wide marks a kernel that uses several threads. Wide operations run one at a time, on one
	// worker that is bound to its thread (OpenMP keeps one team per thread), and while one runs or
	// waits for cores no other operation of the processor is started.
	Wide bool
	// Threads is the number of cores that a Wide operation takes; zero means all.
	Threads int
	// Cheap marks a body of at most about a microsecond. It may run on the goroutine that pushes
	// it, when nothing pending uses its variables, or on one that waits for its results, and is
	// completed together with others. A cheap Async body may also run on the goroutine that
	// completes its last input, by calling done or otherwise.
	Cheap bool
	// Queued marks an Async body that only puts work on the queue of its lane's device. It may
	// start as soon as the operations it depends on have been put on their queues. It must make its
	// queue wait for the events of Run.Waits, and call Run.Issue once its own work is queued.
	Queued bool
	// NoSkip marks an operation that runs even if an input is poisoned. The variables that it
	// writes inherit the error all the same.
	NoSkip bool
	// Delete marks an operation that frees something: it is exempt from quotas and may be pushed
	// after Close.
	Delete bool
	// Bytes is the memory that is held while the operation is queued, counted against
	// Config.MaxBytes.
	Bytes int64
	// Describe returns shapes and the like for error messages. It is called when the operation has
	// failed, never otherwise.
	Describe func() string
}

// check panics when t cannot be run: these are mistakes in the calling program.
func (t *Task) check() {
	switch {
	case (t.Fn == nil) == (t.Async == nil):
		panic(fmt.Sprintf("engine: task %q must have exactly one of Fn and Async", t.Name))
	case t.Priority >= bands:
		panic(fmt.Sprintf("engine: task %q has priority %d, want one of the %d bands", t.Name,
			t.Priority, bands))
	case t.Threads < 0 || t.Threads > math.MaxInt16 || t.Lane.Device.ID < 0 ||
		t.Lane.Device.ID > math.MaxInt32:
		panic(fmt.Sprintf("engine: task %q has %d threads and runs on %v: out of range", t.Name,
			t.Threads, t.Lane))
	case t.Wide && !t.Lane.host():
		panic(fmt.Sprintf("engine: task %q is wide on %v: only kernels of the processor are",
			t.Name, t.Lane))
	case t.Queued && (t.Async == nil || t.Lane.host()):
		panic(fmt.Sprintf("engine: task %q on %v is queued, which only asynchronous bodies on a "+
			"device with queues can be", t.Name, t.Lane))
	}
}

// Run is the argument of the body of an operation. It is valid until the operation is complete.
type Run struct {
	// Arg is the argument of the task.
	Arg any
	// Worker is the index of the worker that runs the body, at least zero and never used by two
	// bodies at once, or -1 on a goroutine that is not a worker's.
	Worker int
	op     *oper
}

// Lane returns the lane of the operation.
func (r *Run) Lane() Lane { return r.op.spec.laneOf() }

// Engine returns the engine that runs the operation. A body may push to it but must not wait for
// it.
func (r *Run) Engine() *Engine { return r.op.eng }

// Waits returns the events that the queue of a Queued operation must wait for before its work may
// start, valid until the operation is complete.
func (r *Run) Waits() []Event {
	if r.op.dev == nil {
		return nil
	}
	return r.op.dev.waits
}

// Poison returns the error that a NoSkip operation inherits from its inputs, nil for others.
func (r *Run) Poison() error {
	return r.op.Inherited()
}

// Push is Engine.Push for the body and for goroutines that it started: it never waits for room,
// since this operation may be the one that makes room.
func (r *Run) Push(t *Task) {
	t.check()
	if !r.op.eng.cfg.CallSites {
		r.op.eng.pushTask(t, t.Uses, extra{exempt: true})
		return
	}
	s := new(site)
	s.capture()
	r.op.eng.pushTask(t, t.Uses, extra{site: s, exempt: true})
}

// Issue says that the work of a Queued operation is on its device's queue and that event marks its
// end. It is called at most once, by the body and before done.
func (r *Run) Issue(event Event) { r.op.eng.issued(r.op, event) }

// Begin makes a queue of a device wait for the inputs of the operation. The body of a Queued
// operation calls it before it puts work on the queue.
func (r *Run) Begin(q device.Queue) error {
	for _, e := range r.Waits() {
		if err := q.Wait(e); err != nil {
			return err
		}
	}
	return nil
}

// Finish ends the body of a Queued operation that has put its work on q: the operation counts as
// issued, and done is called when the device has come to the end of its work. If the body failed,
// failed holds its error: nothing is issued, and done gets the error after the work on the queue.
func (r *Run) Finish(q device.Queue, done func(error), failed error) {
	mark, err := q.Mark()
	switch {
	case failed != nil && err == nil:
		q.Notify(mark, func(error) { done(failed) })
	case failed != nil:
		done(failed)
	case err != nil:
		done(err)
	default:
		r.Issue(mark)
		q.Notify(mark, done)
	}
}
