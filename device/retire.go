package device

import (
	"sync"
	"time"
)

// A program runs ahead of its operations: it asks for the memory of later steps while the
// operations of earlier ones, after which memory becomes free, are still pending. Without a bound
// the memory would grow with the distance. Therefore an allocation for an array waits when enough
// blocks of its size are on their way back. An operation that asks for memory while it runs, for a
// sparse result, never waits: the blocks may come back only after it.
const (
	minAwaited  = 1 << 20  // size in bytes of the smallest blocks that allocations wait for
	aheadBytes  = 64 << 20 // bytes of a size that may be on their way back while the pool grows
	aheadBlocks = 2        // number of large blocks that may
)

// awaitLimit is the longest wait: longer than a training step takes. Tests shorten it.
var awaitLimit = 10 * time.Second

// queueing holds the goroutines that wait for a block of one size class. The class's mutex guards
// it.
type queueing struct {
	cond    *sync.Cond
	waiters int
	stalled bool // the last wait was in vain and no block has come back since
}

// Retire tells the pool that operations which are already pending will free the block. It must be
// called at most once, before Free, on the copy that is freed.
func (b *Block) Retire() {
	if b.pool == nil || b.retired {
		return
	}
	b.retired = true
	l := &b.pool.lists[b.class]
	l.mu.Lock()
	l.retired++
	l.mu.Unlock()
}

// await waits until the class has a free block, while so many blocks of size bytes are on their way
// back that another one from the backend would only store what the program has computed ahead. It
// gives up after awaitLimit, because the operations that free the blocks may wait for the caller.
// The caller holds mu.
func (l *freeList) await(size int) {
	if size < minAwaited || l.retired < int64(max(aheadBlocks, aheadBytes/size)) {
		return
	}
	if l.queue == nil {
		l.queue = &queueing{cond: sync.NewCond(&l.mu)}
	}
	q := l.queue
	if q.stalled {
		return
	}
	late := false
	timer := time.AfterFunc(awaitLimit, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		q.cond.Broadcast()
	})
	defer timer.Stop()
	q.waiters++
	for len(l.free) == 0 && !late {
		q.cond.Wait()
	}
	q.waiters--
	q.stalled = len(l.free) == 0
}

// wake tells the waiting goroutines that a block has come back. The caller holds the class's mutex.
func (q *queueing) wake() {
	if q == nil {
		return
	}
	q.stalled = false
	if q.waiters > 0 {
		q.cond.Signal()
	}
}
