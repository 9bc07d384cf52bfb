package device

import (
	"fmt"
	"unsafe"
)

// QueueKind names the queues of a device, which work independently of each other.
type QueueKind uint8

// The queues of a device.
const (
	QueueCompute QueueKind = iota // kernels
	QueueIn                       // copies to the device
	QueueOut                      // copies from the device
	// kernels that run beside those of QueueCompute; the kinds after it, up to Beside of them, do
	// so too
	QueueBeside
)

// Beside is how many queues there are for kernels besides QueueCompute.
const Beside = 3

// Recorder is the ability of a Queue to record work and to repeat it at little cost.
type Recorder interface {
	// Record runs work, which puts work on the queue, but lets the queue only remember it. Where
	// something cannot be remembered, or it would not pay, the recording is nil: then work is to be
	// run again, for real. The error is that of work.
	Record(work func() error) (Recording, error)
}

// Recording is work that a queue remembers until nobody refers to it. It belongs to the goroutine
// that puts work on the queue.
type Recording interface {
	// Replay puts the work on the queue again, with the addresses and numbers that it had when it
	// was recorded.
	Replay() error
}

// Queue is a queue of a device that works behind the processor's back, in the order in which work
// was put on it. Work is put on a queue by one goroutine at a time.
type Queue interface {
	// Wait makes what is put on the queue from now on wait for a mark of another queue.
	Wait(mark any) error
	// Mark puts a mark at the end of the queue.
	Mark() (any, error)
	// Notify calls done, once and from any goroutine, when the device has come to a mark of this
	// queue; with the error of the device, if it has failed. The mark must not be used afterwards.
	Notify(mark any, done func(error))
	// CopyIn puts a copy from the host on the queue; src may be reused when it returns.
	CopyIn(dst unsafe.Pointer, src []byte) error
	// CopyOut copies to the host after what is on the queue, and returns when dst is filled.
	CopyOut(dst []byte, src unsafe.Pointer) error
	// CopyFrom puts a copy from a device of the same kind, possibly another one, on the queue.
	CopyFrom(dst unsafe.Pointer, from Device, src unsafe.Pointer, bytes int) error
	// Sync waits until the queue is empty.
	Sync() error
}

// queuer is the ability of a Backend whose devices have queues.
type queuer interface {
	Queue(id int, kind QueueKind) (Queue, error)
}

// HasQueues reports whether devices of a kind work queues off, so that operations on them are
// issued and complete later.
func HasQueues(k Kind) bool {
	if int(k) >= len(registry.kinds) {
		return false
	}
	_, ok := registry.kinds[k].backend.(queuer)
	return ok
}

// QueueOf returns a queue of d, whose kind has queues.
func QueueOf(d Device, kind QueueKind) (Queue, error) {
	if !HasQueues(d.Kind) {
		return nil, fmt.Errorf("device: %s has no queues", d)
	}
	return registry.kinds[d.Kind].backend.(queuer).Queue(d.ID, kind)
}
