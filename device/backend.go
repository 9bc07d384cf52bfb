package device

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Backend allocates the memory of one kind of device and copies to and from it. Pools call it for
// large pieces only; it must be safe for concurrent use.
type Backend interface {
	// Count returns the number of devices of this kind.
	Count() int
	// Alloc returns bytes bytes of device id, 64-byte aligned, content undefined.
	Alloc(id, bytes int) (unsafe.Pointer, error)
	// Free releases memory that Alloc returned for the same number of bytes.
	Free(id int, p unsafe.Pointer, bytes int)
	// CopyIn copies src from the host to dst on device id and returns when src may be reused.
	CopyIn(id int, dst unsafe.Pointer, src []byte)
	// CopyOut copies from src on device id to dst on the host and returns when dst is filled.
	CopyOut(id int, dst []byte, src unsafe.Pointer)
}

// zeroing is a Backend whose Alloc returns zeros.
type zeroing interface{ Zeroes() }

// kind is the backend of one kind of device, and the pools of its devices.
type kind struct {
	backend Backend
	pools   []atomic.Pointer[Pool] // by number of the device; nil: not used yet
}

// registry holds the kinds. mu guards registration; once sealed is set only the pools change,
// atomically.
var registry struct {
	mu      sync.Mutex
	sealed  atomic.Bool
	kinds   [len(kindNames)]kind
	joiners [len(kindNames)]Joiner
}

// maxDevices bounds the number of devices of one kind.
const maxDevices = 64

// Register sets the backend of kind k. Only init functions may call it; it panics when k already
// has a backend or pools are in use.
func Register(k Kind, b Backend) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.sealed.Load() {
		panic(fmt.Sprintf("device: Register(%s) after the first use of a pool", k))
	}
	if registry.kinds[k].backend != nil {
		panic(fmt.Sprintf("device: kind %s registered twice", k))
	}
	registry.kinds[k] = kind{backend: b, pools: make([]atomic.Pointer[Pool], maxDevices)}
}

// Count returns the number of devices of kind k on this machine, 0 if the binary has no backend for
// it.
func Count(k Kind) int {
	if int(k) >= len(registry.kinds) || registry.kinds[k].backend == nil {
		return 0
	}
	return registry.kinds[k].backend.Count()
}

// PoolOf returns the pool of d, or an error if d does not exist.
func PoolOf(d Device) (*Pool, error) {
	if int(d.Kind) < len(registry.kinds) {
		pools := registry.kinds[d.Kind].pools
		if uint(d.ID) < uint(len(pools)) {
			if p := pools[d.ID].Load(); p != nil {
				return p, nil
			}
		}
	}
	return openPool(d)
}

// openPool returns the pool of d and makes it at the first use.
func openPool(d Device) (*Pool, error) {
	registry.sealed.Store(true)
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if int(d.Kind) >= len(registry.kinds) || registry.kinds[d.Kind].backend == nil {
		if d.Kind == KindCUDA {
			return nil, fmt.Errorf("device: %s: this binary was built without the tag cuda", d)
		}
		return nil, fmt.Errorf("device: %s: this binary has no backend for devices of this kind", d)
	}
	k := &registry.kinds[d.Kind]
	if n := min(k.backend.Count(), maxDevices); d.ID < 0 || d.ID >= n {
		return nil, fmt.Errorf("device: %s does not exist, this machine has %d devices of this "+
			"kind", d, n)
	}
	if p := k.pools[d.ID].Load(); p != nil {
		return p, nil
	}
	p := NewPool(d, k.backend)
	k.pools[d.ID].Store(p)
	return p, nil
}
