package device

import (
	"fmt"
	"sync"
	"syscall"
	"unsafe"
)

// hugePage is the least size in bytes of a mapping for which huge pages are requested; they save
// address translations.
const hugePage = 2 << 20

// A kernel that reads the same rows of several tables needs them in the first cache together.
// AMD's Zen processors guess the way of a line from a hash of the bits 12 to 27 of its address, and
// a set holds only one of several lines with the same hash. Tables whose distance is a multiple of
// 256 MiB would evict each other row by row, so large mappings begin at different places of a huge
// page, one after the other.
const (
	staggered   = 64 << 20   // least size in bytes of a mapping that is staggered
	places      = 16         // number of places
	placeStride = 4096 + 256 // bytes from one place to the next: another page, other sets of a cache
)

// stagger holds the mappings that do not begin at the address that was given out.
var stagger struct {
	mu   sync.Mutex
	next int                       // place of the next mapping
	held map[unsafe.Pointer][]byte // mappings by the address that was given out
}

// mapPages returns bytes bytes of zeroed memory, aligned to 64 bytes.
func mapPages(bytes int) (unsafe.Pointer, error) {
	size := bytes
	if bytes >= staggered {
		size += hugePage + places*placeStride
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes: %w", bytes, err)
	}
	if bytes >= staggered {
		return staggeredIn(b, bytes), nil
	}
	if bytes >= hugePage {
		adviseHuge(b)
	}
	return unsafe.Pointer(&b[0]), nil
}

// AdviseHuge requests huge pages for the whole ones in b, memory of the collector's too. Reading and
// writing many MiB from end to end is some percent faster in them.
func AdviseHuge(b []byte) {
	if len(b) < 2*hugePage {
		return
	}
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (hugePage - 1))
	adviseHuge(b[skip : skip+(len(b)-skip)/hugePage*hugePage])
}

// adviseHuge requests huge pages. Without them everything works, a little slower.
func adviseHuge(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) }

// staggeredIn returns the next place for bytes bytes in a mapping. The first of them lie in huge
// pages, and those behind, which the place adds, in small ones.
func staggeredIn(b []byte, bytes int) unsafe.Pointer {
	stagger.mu.Lock()
	defer stagger.mu.Unlock()
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & (hugePage - 1))
	adviseHuge(b[skip : skip+bytes])
	p := unsafe.Pointer(&b[skip+stagger.next*placeStride])
	stagger.next = (stagger.next + 1) % places
	if stagger.held == nil {
		stagger.held = map[unsafe.Pointer][]byte{}
	}
	stagger.held[p] = b
	return p
}

// unmapPages releases memory that mapPages returned.
func unmapPages(p unsafe.Pointer, bytes int) {
	b := unsafe.Slice((*byte)(p), bytes)
	if bytes >= staggered {
		stagger.mu.Lock()
		b = stagger.held[p]
		delete(stagger.held, p)
		stagger.mu.Unlock()
	}
	if err := syscall.Munmap(b); err != nil {
		panic(fmt.Sprintf("device: unmapping %d bytes at %p: %v", bytes, p, err))
	}
}
