package engine

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// quota counts the pending operations and their bytes, and holds back pushers while there are too
// many.
type quota struct {
	retired  atomic.Uint64 // submitted operations that are complete
	bytes    atomic.Int64  // held by pending operations
	maxOps   int           // Config.MaxOps
	maxBytes int64         // Config.MaxBytes

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

// full reports whether an operation that holds the given bytes must wait before it is submitted;
// submitted counts the operations before it. pushers.mu is held.
func (q *quota) full(submitted uint64, bytes int64) bool {
	pending := submitted - q.retired.Load()
	if pending >= uint64(q.maxOps) {
		return true
	}
	return bytes > 0 && q.maxBytes > 0 && pending > 0 && q.bytes.Load()+bytes > q.maxBytes
}

// wait returns when there is room again, or at once and true when it is called inside an operation:
// that operation may be the one that makes room.
func (q *quota) wait(retired uint64, bytes int64) (exempt bool) {
	if insideBody() {
		return true
	}
	me := &held{retired, bytes, make(chan struct{}, 1)}
	q.mu.Lock()
	q.list = append(q.list, me)
	q.waiting.Add(1)
	q.mu.Unlock()
	q.release() // room made before we were in the list was not announced
	<-me.ch
	return false
}

// announce tells the pushers that wait, if there are any, that operations are complete.
func (q *quota) announce() {
	if q.waiting.Load() > 0 {
		q.release()
	}
}

// release lets the pushers go on that have room.
func (q *quota) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	retired, bytes := q.retired.Load(), q.bytes.Load()
	kept := q.list[:0]
	for _, w := range q.list {
		// Differences, so that a number below zero counts as long past.
		if int64(retired-w.retired) >= 0 && (q.maxBytes == 0 || bytes == 0 ||
			bytes+w.bytes <= q.maxBytes) {
			w.ch <- struct{}{}
		} else {
			kept = append(kept, w)
		}
	}
	clear(q.list[len(kept):])
	q.list = kept
	q.waiting.Store(int32(len(kept)))
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
