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

// backend is the device.Backend of GPUs.
type backend struct{}

func init() { device.Register(device.KindCUDA, backend{}) }

// Count returns the number of GPUs.
func (backend) Count() int {
	n, err := cu.NumDevices()
	if err != nil {
		return 0
	}
	return n
}

// Alloc allocates memory from the driver: from the driver's pool if it has one, so that Free does
// not stop the device.
func (backend) Alloc(id, bytes int) (p unsafe.Pointer, err error) {
	g, err := open(id)
	if err != nil {
		return nil, err
	}
	g.count(allocated, "memory")
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

// Free releases memory that no queue uses any more.
func (backend) Free(id int, p unsafe.Pointer, _ int) {
	g, err := open(id)
	if err != nil {
		panic(err) // Alloc has opened this device before
	}
	if g.pooled {
		err = check("freeing", C.gcu_free(g.c(), handle(&g.memory), p))
	} else {
		err = g.locked(func() error { return cu.MemFree(cu.DevicePtr(p)) })
	}
	_ = err // a failed device returns its error at every wait; its memory is lost anyway
}

// CopyIn copies from the host and returns when src may be reused and dst is filled.
func (backend) CopyIn(id int, dst unsafe.Pointer, src []byte) {
	mustCopy(id, device.QueueIn, func(q *Queue) error { return q.CopyIn(dst, src) })
}

// CopyOut copies to the host and returns when dst is filled.
func (backend) CopyOut(id int, dst []byte, src unsafe.Pointer) {
	mustCopy(id, device.QueueOut, func(q *Queue) error { return q.CopyOut(dst, src) })
}

// mustCopy runs a copy and waits for it. It panics if the device fails; engines report the panic as
// the error of the operation.
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
