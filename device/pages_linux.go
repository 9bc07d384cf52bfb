package device

import (
	"fmt"
	"syscall"
	"unsafe"
)

// hugePage is the least size in bytes of a mapping for which huge pages are requested; they save
// address translations.
const hugePage = 2 << 20

// mapPages returns bytes bytes of zeroed memory, aligned to a page.
func mapPages(bytes int) (unsafe.Pointer, error) {
	b, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes: %w", bytes, err)
	}
	if bytes >= hugePage {
		// The call is advice only: without huge pages everything works, a little slower.
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	}
	return unsafe.Pointer(&b[0]), nil
}

// unmapPages releases memory that mapPages returned.
func unmapPages(p unsafe.Pointer, bytes int) {
	if err := syscall.Munmap(unsafe.Slice((*byte)(p), bytes)); err != nil {
		panic(fmt.Sprintf("device: unmapping %d bytes at %p: %v", bytes, p, err))
	}
}
