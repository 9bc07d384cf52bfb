//go:build cuda

package cuda

/*
#include "bridge.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"gomx/device"
)

// Queue is a stream of a device: its work runs in order, asynchronously to the processor. It
// implements device.Queue. Only one goroutine at a time may put work on it: a lane of an engine, or
// a caller that waits for each copy.
type Queue struct {
	gpu    *gpu
	kind   device.QueueKind
	stream cu.Stream
	s      unsafe.Pointer // the driver's pointer in stream
	events eventList
	blas   blasHandle
	dnn    dnnHandle
	tape   tape
	gather gathering
	base   unsafe.Pointer // base of random numbers in recordings, nil before the first
	space  workspace      // of the work that runs next
	copies workspace      // of operands that had to be moved to aligned addresses

	mu    sync.Mutex // held while staged memory is filled or emptied
	stage [2]stage
	turn  int // index of the stage that is used next
}

// stage is a piece of pinned host memory through which copies pass.
type stage struct {
	mem   unsafe.Pointer
	event *Event // end of the last copy from or to it; nil: not in use
}

const stageBytes = 4 << 20

func newQueue(g *gpu, kind device.QueueKind, s cu.Stream) *Queue {
	q := &Queue{gpu: g, kind: kind, stream: s}
	q.s = handle(&q.stream)
	q.events.gpu = g
	return q
}

// OpenQueue makes a queue of device id that no lane of an engine uses.
func OpenQueue(id int) (*Queue, error) {
	g, err := open(id)
	if err != nil {
		return nil, err
	}
	var q *Queue
	err = g.locked(func() error {
		s, err := cu.MakeStream(cu.NonBlocking)
		if err == nil {
			q = newQueue(g, device.QueueBeside, s)
		}
		return err
	})
	return q, err
}

// Stream returns the driver's handle of the stream, for calls of libraries.
func (q *Queue) Stream() unsafe.Pointer { return q.s }

// Called counts a call of a library that has put work on q.
func (q *Queue) Called(name string) { q.launched(ranCall, name) }

// Device returns the device that the queue belongs to.
func (q *Queue) Device() device.Device { return device.CUDA(q.gpu.id) }

// Wait makes all work that is put on q later wait for mark, an *Event of any queue.
func (q *Queue) Wait(mark any) error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	return check("waiting for an event", C.gcu_wait(q.gpu.c(), q.s, mark.(*Event).e))
}

// Mark puts an event on q.
func (q *Queue) Mark() (any, error) {
	e, err := q.mark()
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (q *Queue) mark() (*Event, error) {
	if err := q.putJoint(); err != nil {
		return nil, err
	}
	if err := q.PutLate(); err != nil {
		return nil, err
	}
	if q.tape.refuses() {
		return nil, errNotRecorded
	}
	e, err := q.events.take()
	if err != nil {
		return nil, err
	}
	if err := check("recording an event", C.gcu_record(q.gpu.c(), e.e, q.s)); err != nil {
		q.events.put(e)
		return nil, err
	}
	return e, nil
}

// Notify calls done when the device has reached mark, an *Event of q.
func (q *Queue) Notify(mark any, done func(error)) { watch.add(q, mark.(*Event), done) }

// Sync waits until q is empty.
func (q *Queue) Sync() error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	if err := q.PutLate(); err != nil {
		return err
	}
	q.count(waited, "wait for a queue")
	return check("waiting for a stream", C.gcu_sync_stream(q.gpu.c(), q.s))
}

// CopyFrom puts a copy between devices, or within one, on q.
func (q *Queue) CopyFrom(dst unsafe.Pointer, from device.Device, src unsafe.Pointer,
	bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := q.putJoint(); err != nil {
		return err
	}
	if from.ID == q.gpu.id {
		q.count(ranCopy, "copy")
		return check("copying on the device", C.gcu_copy(q.gpu.c(), q.s, dst, src, C.size_t(bytes)))
	}
	if q.tape.refuses() {
		return errNotRecorded
	}
	g, err := open(from.ID)
	if err != nil {
		return err
	}
	q.gpu.reach(g)
	q.count(ranTransfer, "copy between devices")
	return check("copying between devices", C.gcu_copy_peer(q.gpu.c(), q.s, dst, src, g.c(),
		C.size_t(bytes)))
}

// Clear puts an operation on q that fills memory with zeros.
func (q *Queue) Clear(p unsafe.Pointer, bytes int) error {
	if bytes == 0 {
		return nil
	}
	if err := q.putJoint(); err != nil {
		return err
	}
	q.count(ranCopy, "clear")
	return check("clearing memory", C.gcu_set8(q.gpu.c(), q.s, p, 0, C.size_t(bytes)))
}

// reach enables direct copies between g and other if the machine supports them. Otherwise the
// driver copies through the host. A driver's memory pool is open to its own device only, so each
// device is let into the pool of the other one too.
func (g *gpu) reach(other *gpu) {
	if _, done := g.peers.LoadOrStore(other.id, true); done {
		return
	}
	a, errA := cu.GetDevice(g.id)
	b, errB := cu.GetDevice(other.id)
	if errA != nil || errB != nil {
		return
	}
	if can, err := a.CanAccessPeer(b); err == nil && can != 0 {
		// The error is ignored: without peer access the driver copies through the host.
		_ = g.locked(func() error { return other.ctx.EnablePeerAccess(0) })
		if g.pooled && other.pooled {
			C.gcu_share_pool(C.int(other.id), C.int(g.id))
			C.gcu_share_pool(C.int(g.id), C.int(other.id))
		}
	}
}

// OpenPeers enables direct copies between devices, as far as the machine supports them.
func OpenPeers(ids []int) error {
	list := make([]*gpu, len(ids))
	for i, id := range ids {
		g, err := open(id)
		if err != nil {
			return err
		}
		list[i] = g
	}
	for _, g := range list {
		for _, other := range list {
			if g != other {
				g.reach(other)
			}
		}
	}
	return nil
}

// CopyIn puts a copy from the host on q, through pinned memory: the device copies one half while
// the processor fills the other.
func (q *Queue) CopyIn(dst unsafe.Pointer, src []byte) error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for at := 0; at < len(src); at += stageBytes {
		part := src[at:min(at+stageBytes, len(src))]
		s, err := q.nextStage()
		if err != nil {
			return err
		}
		copy(unsafe.Slice((*byte)(s.mem), len(part)), part)
		q.count(ranTransfer, "copy in")
		if err := check("copying to the device", C.gcu_copy_in(q.gpu.c(), q.s, unsafe.Add(dst, at),
			s.mem, C.size_t(len(part)))); err != nil {
			return err
		}
		if s.event, err = q.mark(); err != nil {
			return err
		}
	}
	return nil
}

// CopyOut copies to the host, after the work on q, through pinned memory, and returns when dst is
// filled.
func (q *Queue) CopyOut(dst []byte, src unsafe.Pointer) error {
	if q.tape.refuses() {
		return errNotRecorded
	}
	if err := q.PutLate(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var waiting *stage // holds data that has not been copied to dst yet
	var part []byte
	for at := 0; at < len(dst) || waiting != nil; at += stageBytes {
		var next *stage
		var into []byte
		if at < len(dst) {
			into = dst[at:min(at+stageBytes, len(dst))]
			s, err := q.nextStage()
			if err != nil {
				return err
			}
			q.count(ranTransfer, "copy out")
			if err := check("copying from the device", C.gcu_copy_out(q.gpu.c(), q.s, s.mem,
				unsafe.Add(src, at), C.size_t(len(into)))); err != nil {
				return err
			}
			if s.event, err = q.mark(); err != nil {
				return err
			}
			next = s
		}
		if waiting != nil {
			if err := q.settle(waiting); err != nil {
				return err
			}
			copy(part, unsafe.Slice((*byte)(waiting.mem), len(part)))
		}
		waiting, part = next, into
	}
	runtime.KeepAlive(dst)
	return nil
}

// nextStage returns pinned memory that no copy uses. The caller holds mu.
func (q *Queue) nextStage() (*stage, error) {
	s := &q.stage[q.turn]
	q.turn = (q.turn + 1) % len(q.stage)
	if s.mem == nil {
		p, err := allocPinned(q.gpu, stageBytes)
		if err != nil {
			return nil, err
		}
		s.mem = p
	}
	return s, q.settle(s)
}

// settle waits until the device no longer uses a stage.
func (q *Queue) settle(s *stage) error {
	if s.event == nil {
		return nil
	}
	q.count(waited, "wait for a copy")
	err := check("waiting for a copy", C.gcu_sync_event(q.gpu.c(), s.event.e))
	q.events.put(s.event)
	s.event = nil
	return err
}

// allocPinned returns pinned host memory, which devices access directly.
func allocPinned(g *gpu, bytes int) (p unsafe.Pointer, err error) {
	g.count(allocated, "pinned memory")
	err = check("allocating pinned memory", C.gcu_alloc_pinned(g.c(), C.size_t(bytes), &p))
	return p, err
}
