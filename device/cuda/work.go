//go:build cuda

package cuda

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Work counts operations of a device. A replay of a recording counts as all that it holds.
type Work struct {
	Kernels     int64 // launches of kernels
	Calls       int64 // calls of cuBLAS and cuDNN that compute
	Copies      int64 // copies and fills of memory within the device
	Transfers   int64 // pieces of copies from and to the host and other devices
	Waits       int64 // waits of the host for the device
	Allocations int64 // requests of memory from the driver, on the device and pinned
}

// Computes returns the number of kernels, library calls, copies and fills.
func (w Work) Computes() int64 { return w.Kernels + w.Calls + w.Copies }

// Sub returns the work since an earlier count.
func (w Work) Sub(before Work) Work {
	return Work{w.Kernels - before.Kernels, w.Calls - before.Calls, w.Copies - before.Copies,
		w.Transfers - before.Transfers, w.Waits - before.Waits, w.Allocations - before.Allocations}
}

// WorkOf returns the work of device id so far: zero if the device is not in use.
func WorkOf(id int) Work {
	g := opened.gpus[id].Load()
	if g == nil {
		return Work{}
	}
	var w [kinds]int64
	for k := range w {
		w[k] = g.work[k].Load()
	}
	return Work{w[ranKernel], w[ranCall], w[ranCopy], w[ranTransfer], w[waited], w[allocated]}
}

// The kinds of work that are counted.
const (
	ranKernel = iota
	ranCall
	ranCopy
	ranTransfer
	waited
	allocated
	kinds
)

// counter counts the work of a device, and by name while a trace is on.
type counter struct {
	work  [kinds]atomic.Int64
	trace atomic.Pointer[trace]
}

// trace counts operations by name.
type trace struct {
	mu    sync.Mutex
	names map[string]int64
}

func (t *trace) add(name string, n int64) {
	t.mu.Lock()
	t.names[name] += n
	t.mu.Unlock()
}

// Trace counts the operations of device id by name until stop is called, which returns the counts:
// kernels as family.name, library calls as conv, gemm and so on. The device must be in use.
func Trace(id int) (stop func() map[string]int64) {
	g, err := open(id)
	if err != nil {
		return func() map[string]int64 { return nil }
	}
	t := &trace{names: map[string]int64{}}
	g.trace.Store(t)
	return func() map[string]int64 {
		g.trace.CompareAndSwap(t, nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		return maps.Clone(t.names)
	}
}

// count counts an operation of a kind that has been put on q. Of a recording, the operation counts
// at each replay.
func (q *Queue) count(kind int, name string) {
	if q.tape.on {
		q.tape.names[name]++
		q.tape.work[kind]++
		return
	}
	q.gpu.count(kind, name)
}

// launched is count for work that is also a launch of its own unless q records.
func (q *Queue) launched(kind int, name string) {
	if !q.tape.on {
		q.gpu.launches.Add(1)
	}
	q.count(kind, name)
}

func (c *counter) count(kind int, name string) {
	c.work[kind].Add(1)
	if t := c.trace.Load(); t != nil {
		t.add(name, 1)
	}
}

// replayed counts the work of a recording.
func (c *counter) replayed(r *recording) {
	for k, n := range r.work {
		if n > 0 {
			c.work[k].Add(n)
		}
	}
	if t := c.trace.Load(); t != nil {
		for name, n := range r.names {
			t.add(name, n)
		}
	}
}
