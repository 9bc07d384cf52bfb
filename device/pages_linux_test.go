package device_test

import (
	"testing"
	"unsafe"

	"gomx/device"
)

// TestLargeMappingsAreStaggered allocates several large blocks of one size: the same place of each
// lies in another page, counted within 256 MiB, and in other sets of a cache.
func TestLargeMappingsAreStaggered(t *testing.T) {
	const size, count = 256 << 20, 8
	host := device.Host(1)
	pages, lines := map[uintptr]bool{}, map[uintptr]bool{}
	for range count {
		p, err := host.Alloc(0, size)
		if err != nil {
			t.Fatal(err)
		}
		defer host.Free(0, p, size)
		b := unsafe.Slice((*byte)(p), size)
		if uintptr(p)%64 != 0 || b[0] != 0 || b[size-1] != 0 {
			t.Errorf("the block at %p begins with %d and ends with %d, want zeros from a multiple of "+
				"64 on", p, b[0], b[size-1])
		}
		b[0], b[size-1] = 1, 1
		pages[uintptr(p)>>12&0xffff], lines[uintptr(p)>>6&0x3f] = true, true
	}
	if len(pages) != count || len(lines) != count {
		t.Errorf("%d blocks begin in %d different pages and %d different sets, want as many as blocks",
			count, len(pages), len(lines))
	}
}
