package rows

import "sync"

const (
	pageSize = 64 << 10 // a page holds rows of one column
	slabSize = 4 << 20  // pages are taken from the system in slabs
)

// pages hands out pages of zeros outside of the Go heap. Pages that come back are used again, and
// are not given back to the system.
var pages struct {
	mu   sync.Mutex
	free [][]byte // their contents are unspecified
	slab []byte   // rest of the last slab, untouched
}

// getPage returns a page of at least n bytes, all zero.
func getPage(n int) []byte {
	if n > pageSize {
		return fromSystem((n + pageSize - 1) / pageSize * pageSize)
	}
	pages.mu.Lock()
	defer pages.mu.Unlock()
	if k := len(pages.free); k > 0 {
		p := pages.free[k-1]
		pages.free = pages.free[:k-1]
		clear(p)
		return p
	}
	if len(pages.slab) == 0 {
		pages.slab = fromSystem(slabSize)
	}
	p := pages.slab[:pageSize:pageSize]
	pages.slab = pages.slab[pageSize:]
	return p
}

// putPages takes pages back.
func putPages(list [][]byte) {
	pages.mu.Lock()
	defer pages.mu.Unlock()
	for _, p := range list {
		if len(p) == pageSize {
			pages.free = append(pages.free, p)
		} else {
			toSystem(p)
		}
	}
}
