package device

import (
	"unsafe"
)

// Host is a Backend whose devices share the memory of this process. Its value is the number of
// devices.
type Host int

// Count returns the number of devices.
func (h Host) Count() int { return int(h) }

// Zeroes tells that Alloc returns zeros.
func (h Host) Zeroes() {}

// Alloc maps fresh pages of the operating system.
func (h Host) Alloc(_, bytes int) (unsafe.Pointer, error) { return mapPages(bytes) }

// Free unmaps pages that Alloc returned.
func (h Host) Free(_ int, p unsafe.Pointer, bytes int) { unmapPages(p, bytes) }

// CopyIn copies src to dst.
func (h Host) CopyIn(_ int, dst unsafe.Pointer, src []byte) {
	copy(unsafe.Slice((*byte)(dst), len(src)), src)
}

// CopyOut copies from src to dst.
func (h Host) CopyOut(_ int, dst []byte, src unsafe.Pointer) {
	copy(dst, unsafe.Slice((*byte)(src), len(dst)))
}
