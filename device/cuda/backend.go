//go:build cuda

package cuda

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"gomx/device"
)

// backend makes GPUs available to package device.
type backend struct{}

func init() { device.Register(device.KindCUDA, backend{}) }

// Count returns how many GPUs there are.
func (backend) Count() int {
	n, err := cu.NumDevices()
	if err != nil {
		return 0
	}
	return n
}

// Alloc takes memory from the driver: from its pool where it has one, so that giving memory back
// does not stop the device.
func (backend) Alloc(id, bytes int) (p unsafe.Pointer, err error) {
	g, err := open(id)
	if err != nil {
		return nil, err
	}
	if !g.pooled {
		err = g.locked(func() error {
			d, err := cu.MemAlloc(int64(bytes))
			p = *(*unsafe.Pointer)(unsafe.Pointer(&d))
			return err
		})
		return p, err
	}
	err = check("allocating", C.gcu_alloc(g.c(), handle(&g.memory), C.size_t(bytes), &p))
	return p, err
}

// Free gives memory back that no queue uses any more.
func (backend) Free(id int, p unsafe.Pointer, _ int) {
	g, err := open(id)
	if err != nil {
		panic(err) // the memory came from there
	}
	if g.pooled {
		err = check("freeing", C.gcu_free(g.c(), handle(&g.memory), p))
	} else {
		err = g.locked(func() error { return cu.MemFree(cu.DevicePtr(p)) })
	}
	_ = err // a device that has failed says so wherever somebody waits; memory cannot be saved
}

// CopyIn copies from the host and returns when src may be reused and dst is filled.
func (backend) CopyIn(id int, dst unsafe.Pointer, src []byte) {
	mustCopy(id, device.QueueIn, func(q *Queue) error { return q.CopyIn(dst, src) })
}

// CopyOut copies to the host and returns when dst is filled.
func (backend) CopyOut(id int, dst []byte, src unsafe.Pointer) {
	mustCopy(id, device.QueueOut, func(q *Queue) error { return q.CopyOut(dst, src) })
}

// mustCopy runs a copy and waits for it. A failing device makes it panic, which engines report as
// the failure of the operation.
func mustCopy(id int, kind device.QueueKind, copy func(q *Queue) error) {
	g, err := open(id)
	if err == nil {
		q := g.queues[kind]
		if err = copy(q); err == nil {
			err = q.Sync()
		}
	}
	if err != nil {
		panic(fmt.Errorf("cuda: %v: %w", device.CUDA(id), err))
	}
	runtime.KeepAlive(g)
}

// Queue returns a queue of device id.
func (backend) Queue(id int, kind device.QueueKind) (device.Queue, error) {
	g, err := open(id)
	if err != nil {
		return nil, err
	}
	return g.queues[kind], nil
}
