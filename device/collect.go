package device

import (
	"runtime"
	"sync"
	"time"
)

const (
	minCollect  = 64 << 20               // arrays below this much never cause a collection
	cleanupWait = 100 * time.Millisecond // how long a collection waits for its cleanups
)

// collector asks the Go runtime for collections on behalf of memory that the runtime does not see.
// At most one collection runs at a time.
type collector struct {
	mu      sync.Mutex
	next    int64 // bytes of arrays at which the next collection is due; 0 stands for minCollect
	running bool
}

// watch starts a collection when used bytes are due, and when it is done sets the next mark to
// twice of what usage then reports. It does not wait: the caller may hold locks that cleanups need.
func (c *collector) watch(used int64, usage func() UsageInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running || used < max(c.next, minCollect) {
		return
	}
	c.running = true
	go func() {
		c.run()
		left := usage().Used[PurposeArray]
		c.mu.Lock()
		c.next, c.running = 2*left, false
		c.mu.Unlock()
	}()
}

// run collects and gives the cleanups of that cycle time to free what became unreachable.
func (c *collector) run() {
	done := make(chan struct{})
	sentinel := new([16]*byte) // with a pointer, so that it is no part of a batch of tiny objects
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
