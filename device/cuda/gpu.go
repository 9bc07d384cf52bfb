//go:build cuda

package cuda

/*
#cgo LDFLAGS: -L${SRCDIR}/lib -Wl,--as-needed -ldl
#cgo noescape gcu_launch
#cgo nocallback gcu_launch
#cgo nocallback gcu_record
#cgo nocallback gcu_wait
#cgo nocallback gcu_query
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gorgonia.org/cu"

	"gomx/device"
)

// queues is the number of queues of a device.
const queues = int(device.QueueBeside) + device.Beside

// gpu is one device that is in use: its context, its queues and the functions loaded on it. It is
// made at the first use and lives as long as the process, as its context does. Fields do not change
// after open, but for those with their own locks.
type gpu struct {
	id      int
	info    Info
	ctx     cu.CUContext
	pooled  bool // the driver has memory pools
	queues  [queues]*Queue
	memory  cu.Stream // allocations and their ends
	modules modules
	planner planner
	// by id of the other device: whether it has been asked for
	peers     sync.Map
	functions atomic.Pointer[[]unsafe.Pointer] // by Function.id: the driver's handle
	launches  atomic.Int64                     // kernels and recordings put on queues
}

// opened holds the devices in use.
var opened struct {
	mu   sync.Mutex // held while a device is opened
	gpus [maxDevices]atomic.Pointer[gpu]
}

const maxDevices = 64

// open returns device id, made ready at the first call.
func open(id int) (*gpu, error) {
	if uint(id) < maxDevices {
		if g := opened.gpus[id].Load(); g != nil {
			return g, nil
		}
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	list, err := Devices()
	if err != nil {
		return nil, err
	}
	if id < 0 || id >= min(len(list), maxDevices) {
		return nil, fmt.Errorf("cuda: there is no device %d: %s", id, found(len(list)))
	}
	if g := opened.gpus[id].Load(); g != nil {
		return g, nil
	}
	g := &gpu{id: id, info: list[id]}
	if err := g.open(); err != nil {
		return nil, fmt.Errorf("cuda: opening device %d (%s): %w", id, g.info.Name, err)
	}
	opened.gpus[id].Store(g)
	return g, nil
}

// found says how many devices there are, and why there are none.
func found(n int) string {
	if n == 0 {
		return "this machine has none: " + Missing()
	}
	return fmt.Sprintf("this machine has %d", n)
}

// open makes context and queues.
func (g *gpu) open() error {
	d, err := cu.GetDevice(g.id)
	if err != nil {
		return err
	}
	if g.ctx, err = d.RetainPrimaryCtx(); err != nil {
		return err
	}
	return g.locked(func() error {
		for k := range g.queues {
			s, err := cu.MakeStream(cu.NonBlocking)
			if err != nil {
				return err
			}
			g.queues[k] = newQueue(g, device.QueueKind(k), s)
		}
		var has C.int
		if g.memory, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return err
		}
		if err := check("asking for memory pools", C.gcu_pooled(C.int(g.id), &has)); err != nil {
			return err
		}
		g.pooled = has != 0 && C.gcu_keep_pool(C.int(g.id)) == 0
		return nil
	})
}

// locked runs f on a thread whose context is that of g.
func (g *gpu) locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(g.ctx); err != nil {
		return err
	}
	return f()
}

// c is the context as the bridge takes it.
func (g *gpu) c() unsafe.Pointer { return handle(&g.ctx) }

// handle returns the driver's pointer in one of the binding's structs, which hold nothing else.
func handle[T cu.CUContext | cu.Stream | cu.Event | cu.Function](x *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(x))
}

// Error is what the driver or one of its libraries reported.
type Error struct {
	Call string // what was asked for
	Code int
	Text string
}

// Error names what was asked for and what the driver said.
func (e *Error) Error() string { return fmt.Sprintf("cuda: %s: %s", e.Call, e.Text) }

// check turns a code of the driver into an error.
func check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &Error{call, int(code), fmt.Sprintf("%s (%s, %d)", C.GoString(C.gcu_error_text(code)),
		C.GoString(C.gcu_error_name(code)), int(code))}
}

// Missing says why there are no devices, "" where the driver was found.
func Missing() string { return C.GoString(C.gcu_why_not()) }

// Launches returns how many kernels the program has launched on device id, 0 while it is not in
// use. A recording that is replayed counts once.
func Launches(id int) int64 {
	if g := opened.gpus[id].Load(); g != nil {
		return g.launches.Load()
	}
	return 0
}

// MemInfo returns how many bytes of device id are free and how many it has.
func MemInfo(id int) (free, total int64, err error) {
	g, err := open(id)
	if err != nil {
		return 0, 0, err
	}
	var f, t C.size_t
	err = check("asking for free memory", C.gcu_mem_info(g.c(), &f, &t))
	return int64(f), int64(t), err
}
