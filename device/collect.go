package device

import (
	"runtime"
	"sync"
	"time"
)

const (
	minCollect  = 64 << 20               // bytes of arrays below which no collection starts
	cleanupWait = 100 * time.Millisecond // longest wait for the cleanups of a collection
)

// collector starts Go garbage collections, because the runtime does not know the size of memory
// outside its heap. At most one collection runs at a time.
type collector struct {
	mu      sync.Mutex
	next    int64 // bytes of arrays at which the next collection starts; 0: minCollect
	running bool  // a collection is running
}

// watch starts a collection when used, the bytes of arrays, has reached next. After the collection
// it sets next to twice the bytes that usage reports. It does not wait: the caller may hold locks
// that cleanups need.
func (c *collector) watch(used int64, usage func() UsageInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || used < max(c.next, minCollect) {
		return
	}
	c.running = true
	go func() {
		c.run()
		left := usage().arrays()
		c.mu.Lock()
		c.next, c.running = 2*left, false
		c.mu.Unlock()
	}()
}

// run collects garbage and waits, at most cleanupWait, until cleanups have freed unreachable
// arrays.
func (c *collector) run() {
	done := make(chan struct{})
	sentinel := new([16]*byte) // its pointer keeps it out of a block of tiny objects
	runtime.AddCleanup(sentinel, func(d chan struct{}) { close(d) }, done)
	runtime.KeepAlive(sentinel)
	runtime.GC()
	t := time.NewTimer(cleanupWait)
	defer t.Stop()
	select {
	case <-done:
		runtime.Gosched()
	case <-t.C:
	}
}
