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

// gpu is one device in use: its context, its queues and the functions loaded on it. It is made at
// the first use and, like its context, lives as long as the process. Only fields with locks of
// their own change after open.
type gpu struct {
	id      int
	info    Info
	ctx     cu.CUContext
	pooled  bool // the driver has memory pools
	queues  [queues]*Queue
	memory  cu.Stream // stream that orders allocations and releases
	modules modules
	planner planner
	// peers has the numbers of the devices for which reach has requested direct access.
	peers     sync.Map
	functions atomic.Pointer[[]entry] // kernels, by Function.id
	launches  atomic.Int64            // number of kernels, calls and recordings put on queues
	counter
}

// opened holds the devices in use.
var opened struct {
	mu   sync.Mutex // held while a device is opened
	gpus [maxDevices]atomic.Pointer[gpu]
}

const maxDevices = 64

// open returns device id; the first call makes it.
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

// found describes the number of devices n, with the reason if there are none.
func found(n int) string {
	if n == 0 {
		return "this machine has none: " + Missing()
	}
	return fmt.Sprintf("this machine has %d", n)
}

// open makes the context and the queues.
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

// locked runs f on a thread whose current context is g's.
func (g *gpu) locked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(g.ctx); err != nil {
		return err
	}
	return f()
}

// c returns the driver's pointer of the context, for the bridge.
func (g *gpu) c() unsafe.Pointer { return handle(&g.ctx) }

// handle returns the driver's pointer in one of the binding's structs, which have no other field.
func handle[T cu.CUContext | cu.Stream | cu.Event | cu.Function](x *T) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(x))
}

// Error is an error code of the driver or of one of NVIDIA's libraries.
type Error struct {
	Call string // the failed request
	Code int
	Text string
}

// Error names the failed request and the driver's text.
func (e *Error) Error() string { return fmt.Sprintf("cuda: %s: %s", e.Call, e.Text) }

// check returns the error for a code of the driver, nil for success.
func check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	return &Error{call, int(code), fmt.Sprintf("%s (%s, %d)", C.GoString(C.gcu_error_text(code)),
		C.GoString(C.gcu_error_name(code)), int(code))}
}

// Missing returns the reason why the driver was not found, "" if it was.
func Missing() string { return C.GoString(C.gcu_why_not()) }

// Launches returns the number of kernels launched on device id, 0 if the device is not in use. A
// replay of a recording counts once.
func Launches(id int) int64 {
	if g := opened.gpus[id].Load(); g != nil {
		return g.launches.Load()
	}
	return 0
}

// MemInfo returns the free and the total bytes of device id.
func MemInfo(id int) (free, total int64, err error) {
	g, err := open(id)
	if err != nil {
		return 0, 0, err
	}
	var f, t C.size_t
	err = check("asking for free memory", C.gcu_mem_info(g.c(), &f, &t))
	return int64(f), int64(t), err
}
