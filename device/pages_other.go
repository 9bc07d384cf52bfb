//go:build !linux

package device

import (
	"sync"
	"unsafe"
)

// pages keeps the memory that mapPages has returned reachable.
var pages struct {
	mu   sync.Mutex
	held map[unsafe.Pointer][]uint64
}

// AdviseHuge does nothing: the system has no such request.
func AdviseHuge([]byte) {}

// mapPages returns bytes bytes of zeroed memory, aligned to 64.
func mapPages(bytes int) (unsafe.Pointer, error) {
	buf := make([]uint64, (bytes+7)/8+8)
	start := unsafe.Pointer(&buf[0])
	p := unsafe.Add(start, int(-uintptr(start)&63))
	pages.mu.Lock()
	defer pages.mu.Unlock()
	if pages.held == nil {
		pages.held = map[unsafe.Pointer][]uint64{}
	}
	pages.held[p] = buf
	return p, nil
}

// unmapPages releases memory that mapPages returned.
func unmapPages(p unsafe.Pointer, _ int) {
	pages.mu.Lock()
	defer pages.mu.Unlock()
	delete(pages.held, p)
}
