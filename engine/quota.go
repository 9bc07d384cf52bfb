package engine

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// throttle holds back pushers while too much is pending.
type throttle struct {
	waiting atomic.Int32 // length of list
	mu      sync.Mutex
	list    []*held
}

// held is one goroutine that waits for room.
type held struct {
	retired uint64 // goes on when that many operations are complete
	bytes   int64  // and that many bytes have room
	ch      chan struct{}
}

// full reports whether an operation that holds the given bytes must wait before it is submitted.
// push.mu is held.
func (e *Engine) full(bytes int64) bool {
	pending := e.push.submitted - e.retired.Load()
	if pending >= uint64(e.cfg.MaxOps) {
		return true
	}
	return bytes > 0 && e.cfg.MaxBytes > 0 && pending > 0 && e.bytes.Load()+bytes > e.cfg.MaxBytes
}

// wait returns when there is room again, or at once and true when it is called inside an operation:
// that operation may be the one that makes room.
func (h *throttle) wait(e *Engine, retired uint64, bytes int64) (exempt bool) {
	if insideBody() {
		return true
	}
	me := &held{retired, bytes, make(chan struct{}, 1)}
	h.mu.Lock()
	h.list = append(h.list, me)
	h.waiting.Add(1)
	h.mu.Unlock()
	h.release(e) // room made before we were in the list was not announced
	<-me.ch
	return false
}

// announce tells the pushers that wait, if there are any, that operations are complete.
func (h *throttle) announce(e *Engine) {
	if h.waiting.Load() > 0 {
		h.release(e)
	}
}

// release lets the pushers go on that have room.
func (h *throttle) release(e *Engine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	retired, bytes := e.retired.Load(), e.bytes.Load()
	kept := h.list[:0]
	for _, w := range h.list {
		// Differences, so that a number below zero counts as long past.
		if int64(retired-w.retired) >= 0 && (e.cfg.MaxBytes == 0 || bytes == 0 ||
			bytes+w.bytes <= e.cfg.MaxBytes) {
			w.ch <- struct{}{}
		} else {
			kept = append(kept, w)
		}
	}
	clear(h.list[len(kept):])
	h.list = kept
	h.waiting.Store(int32(len(kept)))
}

// insideBody reports whether the calling goroutine runs the body of an operation. It looks for the
// function that runs bodies, by its address, among the callers. That takes a microsecond or two, so
// only a goroutine that would have to wait otherwise asks.
func insideBody() bool {
	perform := reflect.ValueOf((*Engine).perform).Pointer()
	var pc [64]uintptr
	for skip := 2; ; skip += len(pc) {
		n := runtime.Callers(skip, pc[:])
		frames := runtime.CallersFrames(pc[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			if f, more = frames.Next(); f.Entry == perform {
				return true
			}
		}
		if n < len(pc) {
			return false
		}
	}
}
