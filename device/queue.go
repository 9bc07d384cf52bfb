package device

import (
	"fmt"
	"unsafe"
)

// QueueKind names one of the queues of a device, which run independently of each other.
type QueueKind uint8

// The queues of a device.
const (
	QueueCompute QueueKind = iota // kernels
	QueueIn                       // copies to the device
	QueueOut                      // copies from the device
	// QueueBeside is the first of Beside queues for kernels that run concurrently with
	// QueueCompute's.
	QueueBeside
)

// Beside is the number of queues for kernels besides QueueCompute.
const Beside = 3

// Recorder is an optional interface of a Queue: it records work and repeats it at little cost.
type Recorder interface {
	// Record calls work, whose commands the queue records instead of running them. Work counts
	// its random numbers from seed on, a replay from the seed of the replay. The Recording is nil
	// if a command cannot be recorded or the recording would not save time; the caller must then
	// call work again outside Record. The error is work's.
	Record(seed uint64, work func() error) (Recording, error)
}

// Recording is recorded work of a queue. It is released when it is unreachable. Only the goroutine
// that puts work on the queue may use it.
type Recording interface {
	// Replay puts the work on the queue again, with the addresses and numbers of the recording, but
	// for the random numbers.
	Replay(seed uint64) error
}

// Gatherer is an optional interface of a Queue: it joins kernels of one kind.
type Gatherer interface {
	// Gather calls work, whose kernels do not read each other's results: the queue may run them in
	// another order, and several of one kind as one. The error is work's or the queue's.
	Gather(work func() error) error
}

// Queue is a queue of work for a device. The device runs the work in order and asynchronously to
// the processor. Only one goroutine at a time may put work on a queue.
type Queue interface {
	// Wait makes all work that is put on the queue later wait for a mark of another queue.
	Wait(mark any) error
	// Mark puts a mark at the end of the queue.
	Mark() (any, error)
	// Notify calls done, once and from any goroutine, when the device has reached a mark of this
	// queue; the argument is the device's error if it has failed. The mark must not be used
	// afterwards.
	Notify(mark any, done func(error))
	// CopyIn puts a copy from the host on the queue; src may be reused when it returns.
	CopyIn(dst unsafe.Pointer, src []byte) error
	// CopyOut copies to the host after the work on the queue, and returns when dst is filled.
	CopyOut(dst []byte, src unsafe.Pointer) error
	// CopyFrom puts a copy from a device of the same kind, possibly another one, on the queue.
	CopyFrom(dst unsafe.Pointer, from Device, src unsafe.Pointer, bytes int) error
	// Sync waits until the queue is empty.
	Sync() error
}

// queuer is an optional interface of backends whose devices have queues.
type queuer interface {
	Queue(id int, kind QueueKind) (Queue, error)
}

// HasQueues reports whether devices of a kind have queues, so that operations on them are issued
// first and complete later.
func HasQueues(k Kind) bool {
	if int(k) >= len(registry.kinds) {
		return false
	}
	_, ok := registry.kinds[k].backend.(queuer)
	return ok
}

// QueueOf returns a queue of d; it is an error if devices of d's kind have no queues.
func QueueOf(d Device, kind QueueKind) (Queue, error) {
	if !HasQueues(d.Kind) {
		return nil, fmt.Errorf("device: %s has no queues", d)
	}
	return registry.kinds[d.Kind].backend.(queuer).Queue(d.ID, kind)
}
