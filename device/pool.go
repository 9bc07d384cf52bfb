package device

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

const (
	slabBytes    = 256 << 10 // size of a slab, from which small blocks are cut
	maxSlabBlock = 32 << 10  // size of the largest block that is cut from a slab
	minCacheTrim = 256 << 20 // size up to which the cache is never trimmed automatically
)

// freeList holds the free blocks of one size class and counts the blocks in use. It fills whole
// cache lines, so that classes do not share one.
type freeList struct {
	mu      sync.Mutex
	free    []unsafe.Pointer
	used    [numPurposes]int64 // number of blocks in use, by purpose
	retired int64              // number of blocks in use that pending operations will free
	queue   *queueing          // goroutines that wait for a block; nil if there never were any
	_       [128 - 8 - 24 - 8*numPurposes - 8 - 8]byte
}

// Pool allocates the memory of one device. It is safe for concurrent use.
//
// Lock order: Pool.mu before freeList.mu; two freeLists are never locked together.
type Pool struct {
	dev     Device
	backend Backend
	lists   [numClasses]freeList
	collect collector

	mu       sync.Mutex
	reserved int64 // bytes allocated from the backend
	high     int64 // bytes in use at the latest peaks; it sinks slowly
	limit    int64 // upper bound of reserved, in bytes; 0: none
}

// NewPool returns an empty pool over b for device d. Most programs use the pools that Alloc and
// PoolOf open.
func NewPool(d Device, b Backend) *Pool {
	return &Pool{dev: d, backend: b}
}

// Alloc returns a block of bytes bytes.
func (p *Pool) Alloc(bytes int, purpose Purpose) (Block, error) {
	class, ok := classOf(bytes)
	if !ok {
		return Block{}, fmt.Errorf("device: cannot allocate %d bytes on %s, want 0 to %d", bytes,
			p.dev, 1<<maxExponent)
	}
	l := &p.lists[class]
	l.mu.Lock()
	if len(l.free) == 0 && purpose == PurposeArray {
		l.await(classSize(class))
	}
	if n := len(l.free); n > 0 {
		ptr := l.free[n-1]
		l.free = l.free[:n-1]
		l.used[purpose]++
		l.mu.Unlock()
		return Block{Ptr: ptr, Bytes: bytes, pool: p, class: uint16(class), purpose: purpose}, nil
	}
	l.mu.Unlock()
	return p.grow(Block{Bytes: bytes, pool: p, class: uint16(class), purpose: purpose})
}

// put returns b to its free list.
func (p *Pool) put(b Block) {
	l := &p.lists[b.class]
	l.mu.Lock()
	l.free = append(l.free, b.Ptr)
	l.used[b.purpose]--
	if b.retired {
		l.retired--
	}
	l.queue.wake()
	l.mu.Unlock()
}

// grow sets b.Ptr to new memory from the backend and returns b.
func (p *Pool) grow(b Block) (Block, error) {
	size := classSize(int(b.class))
	p.watch(b.purpose, size)
	piece := size
	if size <= maxSlabBlock {
		piece = slabBytes
	}
	ptr, err := p.take(piece)
	if err != nil { // free unreachable arrays and cached blocks, then try again
		p.collect.run()
		p.Trim()
		ptr, err = p.take(piece)
	}
	if err != nil {
		return Block{}, fmt.Errorf("device: out of memory on %s for %d bytes (%s): %w; in use: %s",
			p.dev, b.Bytes, b.purpose, err, p.Usage())
	}
	l := &p.lists[b.class]
	l.mu.Lock()
	for off := size; off+size <= piece; off += size {
		l.free = append(l.free, unsafe.Add(ptr, off))
	}
	l.used[b.purpose]++
	l.mu.Unlock()
	b.Ptr = ptr
	if _, ok := p.backend.(zeroing); ok && piece == size {
		b.zeroed = true
	}
	return b, nil
}

var errLimit = errors.New("the limit is reached")

// take counts bytes as reserved and allocates them from the backend.
func (p *Pool) take(bytes int) (unsafe.Pointer, error) {
	p.mu.Lock()
	if p.limit > 0 && p.reserved+int64(bytes) > p.limit {
		p.mu.Unlock()
		return nil, errLimit
	}
	p.reserved += int64(bytes)
	p.mu.Unlock()
	ptr, err := p.backend.Alloc(p.dev.ID, bytes)
	if err != nil {
		p.mu.Lock()
		p.reserved -= int64(bytes)
		p.mu.Unlock()
	}
	return ptr, err
}

// watch bounds the memory of cached blocks and of unreachable arrays; it runs whenever the pool is
// about to grow by size bytes. Blocks that were in use together a while ago stay in the cache, because the next
// step of a loop asks for them again; memory that was used only once is forgotten by and by.
func (p *Pool) watch(purpose Purpose, size int) {
	u := p.Usage()
	p.mu.Lock()
	p.high = max(u.Total()+int64(size), p.high-p.high/32)
	most := max(p.high+p.high/4, minCacheTrim)
	p.mu.Unlock()
	if u.Cached > most {
		p.Trim()
	}
	if purpose == PurposeArray || purpose == PurposeStored {
		p.collect.watch(u.arrays(), p.Usage)
	}
}

// Trim releases all cached blocks larger than 32 KiB to the backend and returns their number of
// bytes.
func (p *Pool) Trim() int {
	total := 0
	for class := range p.lists {
		size := classSize(class)
		if size <= maxSlabBlock {
			continue
		}
		l := &p.lists[class]
		l.mu.Lock()
		free := l.free
		l.free = nil
		l.mu.Unlock()
		for _, ptr := range free {
			p.backend.Free(p.dev.ID, ptr, size)
		}
		total += len(free) * size
	}
	p.mu.Lock()
	p.reserved -= int64(total)
	p.mu.Unlock()
	return total
}

// SetLimit bounds the bytes reserved from the backend; 0 means no bound. It releases nothing that
// is already reserved.
func (p *Pool) SetLimit(bytes int64) {
	p.mu.Lock()
	p.limit = bytes
	p.mu.Unlock()
}

// Usage returns the pool's usage. Under concurrent use each number is exact, but not all at the
// same instant.
func (p *Pool) Usage() UsageInfo {
	var u UsageInfo
	for class := range p.lists {
		l := &p.lists[class]
		size := int64(classSize(class))
		l.mu.Lock()
		for i, n := range l.used {
			u.Used[i] += n * size
		}
		u.Cached += int64(len(l.free)) * size
		l.mu.Unlock()
	}
	p.mu.Lock()
	u.Reserved, u.Limit = p.reserved, p.limit
	p.mu.Unlock()
	return u
}
