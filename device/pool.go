package device

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"
)

const (
	slabBytes    = 256 << 10 // what small blocks are cut from
	maxSlabBlock = 32 << 10  // the largest block that is cut from a slab
	minCacheTrim = 256 << 20 // below this much the cache is never trimmed unasked
)

// freeList holds the free blocks of one size class and counts those handed out. It fills its cache
// lines, so that classes do not disturb each other.
type freeList struct {
	mu   sync.Mutex
	free []unsafe.Pointer
	used [numPurposes]int64 // blocks
	_    [128 - 8 - 24 - 8*numPurposes]byte
}

// Pool hands out the memory of one device. It is safe for concurrent use.
//
// Locks: mu comes before that of a freeList; two freeLists are never locked together.
type Pool struct {
	dev     Device
	backend Backend
	lists   [numClasses]freeList
	collect collector

	mu       sync.Mutex
	reserved int64 // bytes taken from the backend
	limit    int64
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

// put takes b back.
func (p *Pool) put(b Block) {
	l := &p.lists[b.class]
	l.mu.Lock()
	l.free = append(l.free, b.Ptr)
	l.used[b.purpose]--
	l.mu.Unlock()
}

// grow fills in b with new memory from the backend.
func (p *Pool) grow(b Block) (Block, error) {
	p.watch(b.purpose)
	size := classSize(int(b.class))
	piece := size
	if size <= maxSlabBlock {
		piece = slabBytes
	}
	ptr, err := p.take(piece)
	if err != nil { // cached blocks of other classes and forgotten arrays may help
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
	return b, nil
}

var errLimit = errors.New("the limit is reached")

// take reserves bytes and gets them from the backend.
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

// watch keeps cached and forgotten memory within bounds; it runs whenever the pool is about to
// grow.
func (p *Pool) watch(purpose Purpose) {
	u := p.Usage()
	if u.Cached > max(u.Total(), minCacheTrim) {
		p.Trim()
	}
	if purpose == PurposeArray {
		p.collect.watch(u.Used[PurposeArray], p.Usage)
	}
}

// Trim returns all cached blocks larger than 32 KiB to the backend and says how many bytes that
// were.
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

// SetLimit bounds the bytes taken from the backend; 0 means no bound. What is already reserved
// stays.
func (p *Pool) SetLimit(bytes int64) {
	p.mu.Lock()
	p.limit = bytes
	p.mu.Unlock()
}

// Usage returns what the pool holds. Under concurrent use the figures are each exact, but not of
// one instant.
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
